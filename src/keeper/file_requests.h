// SPDX-License-Identifier: Apache-2.0
// The file verbs of the control socket: finds the session's files, and keeps files that were sent and
// have no name yet, by the hidden one that stands for it. Those end with their connection.
//
// Threading: the keeper's loop. Answers come later, to connections that may be gone by then.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "keeper/sessions.h"
#include "wire/control.h"

namespace vitrine::keeper {

class FileRequests {
 public:
  // Where answers go; a connection that is gone is ignored.
  class Replies {
   public:
    virtual ~Replies() = default;
    virtual void answer(std::uint64_t connection, std::uint32_t number,
                        const wire::Reply& reply) = 0;
    virtual void answer_with(std::uint64_t connection, std::uint32_t number,
                             const wire::Reply& reply, int fd) = 0;
  };

  FileRequests(Sessions& sessions, Replies& replies) : sessions_(sessions), replies_(replies) {}

  void list(std::uint64_t connection, std::uint32_t number, const wire::ListFiles& request);
  void open(std::uint64_t connection, std::uint32_t number, const wire::OpenFile& request);
  void create(std::uint64_t connection, std::uint32_t number, const wire::NewFile& request);
  void commit(std::uint64_t connection, std::uint32_t number, const wire::CommitFile& request);
  // Of a file by its path, or of one without a name.
  void remove(std::uint64_t connection, std::uint32_t number, const wire::RemoveFile& request);
  void forget(std::uint64_t connection) { connections_.erase(connection); }

 private:
  struct Upload {
    std::uint64_t session = 0;
    Fd file;
  };
  struct Connection {
    std::map<std::string, Upload> uploads = {};
    std::size_t creating = 0;
  };

  void created(std::uint64_t connection, std::uint32_t number, std::uint64_t session,
               Result<Fd> file);
  // The session's files, or none and the connection has its answer.
  SandboxFiles* files(std::uint64_t connection, std::uint32_t number, std::uint64_t session);
  Done done(std::uint64_t connection, std::uint32_t number);
  void answer(std::uint64_t connection, std::uint32_t number, const Error& error);

  Sessions& sessions_;
  Replies& replies_;
  std::map<std::uint64_t, Connection> connections_;  // those that send something
};

}  // namespace vitrine::keeper
