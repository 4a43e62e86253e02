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
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "api/identities.h"
#include "api/router.h"

namespace vitrine::api {

class WebSocketStream;

struct ServerConfig {
  Identities identities;
  bool token_everywhere = false;  // not only for listings
  std::set<std::string> hosts;    // exact values of Host that are ours; empty = any
  std::size_t max_connections = 4096;
};

struct Handled {
  http::verb method{};
  std::string_view route;  // pattern, "" if none matched
  int status = 0;
  double seconds = 0;
  std::string_view session;
  std::string_view execution;
};

class Server {
 public:
  Server(asio::ip::tcp::acceptor acceptor, const Router& router, ServerConfig config,
         std::function<void(const Handled&)> log);

  Task<void> accept_all();
  // Takes no more connections; those that are busy finish, WebSockets are closed.
  void stop();
  std::size_t busy() const { return busy_; }
  std::size_t connections() const { return connections_; }
  std::size_t websockets() const { return websockets_.size(); }
  const Identities& identities() const { return config_.identities; }
  // As Identities::change(); WebSockets of those who have no token any more are closed.
  Result<std::vector<const Identity*>> change_tokens(std::span<const Token> others);

 private:
  Task<void> serve(asio::ip::tcp::socket socket);
  friend class Connection;

  asio::ip::tcp::acceptor acceptor_;
  const Router& router_;
  ServerConfig config_;
  std::function<void(const Handled&)> log_;
  std::size_t connections_ = 0;
  std::size_t busy_ = 0;
  std::map<WebSocketStream*, const Identity*> websockets_;  // and who opened them
  bool stopping_ = false;
};

}  // namespace vitrine::api
