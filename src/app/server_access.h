// SPDX-License-Identifier: Apache-2.0
// A server to talk to: the one that was named, one that runs already, or a private one that lives as
// long as this object.
//
// Ownership: the destructor ends a private server and removes its directory. If we are killed, the
//            server notices, ends, and removes it itself.
#pragma once

#include <string>

#include "app/commands.h"
#include "app/http_client.h"
#include "app/signals.h"

namespace vitrine::app {

class ServerAccess {
 public:
  // --url, then VITRINE_URL, then 127.0.0.1:8000 if a Vitrine answers there at once, else a private
  // one; the URL "private" asks for that by name. `conflict` if a signal came meanwhile.
  static Result<ServerAccess> find(const Target& target, Signals& signals);

  ServerAccess(ServerAccess&& other) noexcept;
  ServerAccess& operator=(ServerAccess&&) = delete;
  ~ServerAccess();

  const Server& server() const { return server_; }

 private:
  ServerAccess() = default;
  Status start_private(const Target& target, Signals& signals);

  Server server_;
  int pid_ = -1;           // of a private one
  std::string directory_;  // of a private one
};

// The Error in a problem+json answer.
Error problem_in(const Response& response);

}  // namespace vitrine::app
