// SPDX-License-Identifier: Apache-2.0
// The control socket: clients that ask for sessions, one SEQPACKET connection each.
//
// Trust:     a client may be compromised: requests are bounded and checked, a malformed one ends its
//            connection. Only the keeper's own user, root and the configured client uid may connect at
//            all (SO_PEERCRED).
// Pressure:  while answers wait for a client to read, none of its requests is read, so they stay few: one
//            for each session that is being made for it. Those wait without descriptors of their own. A
//            client that leaves thousands of events unread is cut off.
// Lifetime:  a client that goes away leaves its sessions as they are; the next one can attach them.
// Threading: the keeper's loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "keeper/encoders.h"
#include "keeper/file_requests.h"
#include "keeper/gateway_process.h"
#include "keeper/sessions.h"

namespace vitrine::keeper {

class Control final : public SessionOwners, private FileRequests::Replies {
 public:
  Control(Loop& loop, std::function<KeeperInfo()> info, uid_t client)
      : loop_(loop), info_(std::move(info)), client_(client) {}

  ~Control() override { unlisten(); }

  // Listens on `path` (mode 0600). A socket that a killed keeper left there is replaced; `conflict`
  // if somebody serves it, or if it is anything else.
  Status listen(const std::string& path);
  // Removes the path: nobody new can come.
  void unlisten();
  // Another way in: a connection that the keeper made itself.
  void add(Fd socket);
  void serve(Sessions& sessions, Encoders& encoders, GatewayProcess& gateway) {
    sessions_ = &sessions;
    encoders_ = &encoders;
    gateway_ = &gateway;
    FileRequests::Replies& replies = *this;
    files_.emplace(sessions, replies);
  }

  void notify(std::uint64_t connection, const wire::Event& event) override;
  bool connected(std::uint64_t connection) const override {
    return connections_.contains(connection);
  }

 private:
  struct Connection {
    Fd socket;
    struct Waiting {
      std::string bytes;
      std::vector<Fd> fds = {};
      std::optional<wire::Opened> opened = {};  // its descriptors are taken when it is sent
      std::uint32_t number = 0;                 // of that request
    };
    std::deque<Waiting> unsent = {};
  };

  Status bind(int socket, const std::string& path);
  Status watch_listener();
  void accept();
  void read(std::uint64_t id);
  void handle(std::uint64_t id, const wire::NumberedRequest& request);
  void answer(std::uint64_t id, std::uint32_t number, const wire::Reply& reply) override;
  void answer_with(std::uint64_t id, std::uint32_t number, const wire::Reply& reply,
                   int fd) override;
  void answer(std::uint64_t id, std::uint32_t number, const Status& status);
  void answer_opened(std::uint64_t id, std::uint32_t number, const Result<wire::Opened>& opened);
  void send(std::uint64_t id, std::string bytes, const std::vector<int>& fds);
  void send_opened(std::uint64_t id, std::uint32_t number, const wire::Opened& opened);
  Status transmit_opened(int socket, std::uint32_t number, const wire::Opened& opened);
  void wait_to_send(std::uint64_t id, Connection::Waiting waiting);
  void flush(std::uint64_t id);
  void drop(std::uint64_t id);
  void watch(std::uint64_t id);

  Loop& loop_;
  std::function<KeeperInfo()> info_;
  uid_t client_;
  Sessions* sessions_ = nullptr;
  Encoders* encoders_ = nullptr;
  GatewayProcess* gateway_ = nullptr;
  std::optional<FileRequests> files_;
  Fd listener_;
  std::string path_;  // of the listener; empty = not ours
  std::uint64_t last_id_ = 0;
  std::unordered_map<std::uint64_t, Connection> connections_;
};

}  // namespace vitrine::keeper
