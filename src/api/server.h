// SPDX-License-Identifier: Apache-2.0
// The HTTP server: connections in, Exchanges to routes, answers out.
//
// Trust:  every byte is hostile. Headers are at most 16 KiB and must be complete within 10 s, bodies
//         are read on demand, idle connections are closed after a minute, both lengths (Content-Length
//         and chunked) at once are refused, as is a Host or Origin that is not ours.
//         What is still on its way when a request is refused is read and thrown away, for a while, so
//         that the client finds its answer and not a reset.
// Access: without token_everywhere, all but listings is open to programs (browsers are kept out by
//         Host and Origin); with it, a token is needed everywhere but /health. Whose token it is, is
//         in the Exchange; what that one may see, the registry knows.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <span>
#include <vector>

#include "api/server_state.h"

namespace vitrine::api {

class Server {
 public:
  Server(asio::ip::tcp::acceptor acceptor, const Router& router, ServerConfig config,
         std::function<void(const Handled&)> log);

  Task<void> accept_all();
  // Takes no more connections; those that are busy finish, WebSockets are closed.
  void stop();
  std::size_t busy() const { return traffic_.busy; }
  std::size_t connections() const { return connections_; }
  std::size_t websockets() const { return traffic_.websockets.size(); }
  const Identities& identities() const { return traffic_.config.identities; }
  // As Identities::change(); WebSockets of those who have no token any more are closed.
  Result<std::vector<const Identity*>> change_tokens(std::span<const Token> others);

 private:
  Task<void> serve(asio::ip::tcp::socket socket);

  asio::ip::tcp::acceptor acceptor_;
  ServerState traffic_;
  std::size_t connections_ = 0;
};

}  // namespace vitrine::api
