// SPDX-License-Identifier: Apache-2.0
// One connection: its requests are answered one after the other, and it is the Exchange of whichever is
// on. It holds to the times and sizes of api/server.h, and a request that is refused finds its answer.
//
// Ownership: the coroutine that runs it. Threading: the front's one thread.
// Trust:     every byte is hostile.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/exchange.h"
#include "api/server_state.h"

namespace vitrine::api {

class Connection final : public Exchange {
 public:
  Connection(ServerState& traffic, asio::ip::tcp::socket socket)
      : traffic_(traffic), stream_(std::move(socket)) {}

  // Until it is closed, by whom ever.
  Task<void> run();

  std::string header(std::string_view name) const override {
    return std::string(parser_->get()[std::string(name)]);
  }
  std::optional<std::uint64_t> body_size() const override {
    auto size = parser_->content_length();
    return size ? std::optional<std::uint64_t>(*size) : std::nullopt;
  }
  Task<Result<std::string>> body(std::size_t limit) override;
  Task<Result<std::string>> body_part() override;
  Task<void> respond(http::status status, std::string_view type, std::string body,
                     std::vector<Header> headers) override;
  Task<void> stream(http::status status, std::string_view type, std::optional<std::uint64_t> size,
                    std::vector<Header> headers) override;
  Task<bool> write(std::string_view part) override;
  Task<void> finish() override;
  Task<void> gone() override;
  bool responded() const override { return status_ != 0; }
  bool wants_websocket() const override {
    return boost::beast::websocket::is_upgrade(parser_->get());
  }
  Task<std::shared_ptr<WebSocket>> upgrade(std::size_t max_message) override;

 private:
  using Parser = http::request_parser<http::buffer_body>;
  static constexpr std::size_t kPart = 64 * 1024;

  Task<bool> read_header();
  // Takes what has been received already; `need_more` if that is too little.
  void parse_received(boost::system::error_code& failed);
  Task<void> answer();
  std::string start_line(http::status status, std::string_view type,
                         const std::vector<Header>& headers) const;
  Task<bool> send(std::string_view bytes);
  Task<void> linger();

  ServerState& traffic_;
  boost::beast::tcp_stream stream_;
  // Bounds what the parser keeps until it understands it: trailers too, of which fields over 64 KiB
  // would make it throw where nobody catches.
  boost::beast::flat_buffer buffer_{kPart};
  std::optional<Parser> parser_;
  int status_ = 0;
  bool chunked_ = false;
  bool complete_ = false;  // the answer is whole
  bool keep_ = true;
  bool alive_ = true;
  bool head_ = false;
  bool waits_for_continue_ = false;  // the client sends its body when it is told to
  std::size_t body_bytes_ = 0;       // of this request, so far
  std::chrono::steady_clock::time_point body_began_;
  bool unread_ = false;                         // it was answered before all it sent was read
  std::shared_ptr<WebSocketStream> websocket_;  // it is one now
};

}  // namespace vitrine::api
