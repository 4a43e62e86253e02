// SPDX-License-Identifier: Apache-2.0
#include "api/server.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "api/connection.h"
#include "api/websocket_stream.h"
#include "service/async.h"

namespace vitrine::api {

using asio::ip::tcp;
using boost::system::error_code;

namespace {

auto token_of(error_code& failed) { return asio::redirect_error(asio::use_awaitable, failed); }

}  // namespace

Server::Server(tcp::acceptor acceptor, const Router& router, ServerConfig config,
               std::function<void(const Handled&)> log)
    : acceptor_(std::move(acceptor)),
      traffic_{.router = router, .config = std::move(config), .log = std::move(log)} {}

Task<void> Server::serve(tcp::socket socket) {
  // Given back however it ends: what throws must not take a place with it.
  struct Place {
    std::size_t& taken;
    explicit Place(std::size_t& count) : taken(count) { ++taken; }
    ~Place() { --taken; }
  } place(connections_);
  Connection connection(traffic_, std::move(socket));
  co_await connection.run();
}

Task<void> Server::accept_all() {
  while (!traffic_.stopping) {
    error_code failed;
    tcp::socket socket = co_await acceptor_.async_accept(token_of(failed));
    if (traffic_.stopping) co_return;
    if (failed || connections_ >= traffic_.config.max_connections) {
      // Out of descriptors or places: give those that are busy a moment.
      Timer pause(acceptor_.get_executor(), std::chrono::milliseconds(20));
      co_await pause.async_wait(token_of(failed));
      continue;
    }
    spawn(acceptor_.get_executor(), serve(std::move(socket)), "connection");
  }
}

void Server::stop() {
  traffic_.stopping = true;
  error_code ignored;
  acceptor_.cancel(ignored);
  acceptor_.close(ignored);
  for (const auto& [websocket, opened_by] : traffic_.websockets)
    websocket->begin_close(WebSocket::Close::going_away, "the server is stopping");
}

Result<std::vector<const Identity*>> Server::change_tokens(std::span<const Token> others) {
  Result<std::vector<const Identity*>> added = traffic_.config.identities.change(others);
  if (!added) return added;
  for (const auto& [websocket, opened_by] : traffic_.websockets)
    if (!traffic_.config.identities.is_welcome(*opened_by))
      websocket->begin_close(WebSocket::Close::policy, "this token has been revoked");
  return added;
}

}  // namespace vitrine::api
