// SPDX-License-Identifier: Apache-2.0
// The WebSocket of a connection that has asked for one.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <deque>
#include <memory>

#include "api/websocket.h"
#include "session/condition.h"

namespace vitrine::api {

class WebSocketStream final : public WebSocket,
                              public std::enable_shared_from_this<WebSocketStream> {
 public:
  WebSocketStream(boost::beast::tcp_stream stream, std::size_t max_message);

  // Answers the request and begins to read and write. False if the handshake failed.
  Task<bool> accept(const http::request<http::empty_body>& request);

  Task<std::optional<Message>> next() override;
  Task<bool> send(Message message) override;
  Task<void> close(Close code, std::string_view reason) override;
  Task<void> gone() override;
  // Without waiting for anything.
  void begin_close(Close code, std::string_view reason);

 private:
  Task<void> read_all();
  Task<void> write_all();

  boost::beast::websocket::stream<boost::beast::tcp_stream> stream_;
  session::Condition changes_;
  std::deque<Message> inbox_;
  std::size_t inbox_bytes_ = 0;
  std::deque<Message> outbox_;
  std::size_t outbox_bytes_ = 0;
  std::optional<boost::beast::websocket::close_reason> closing_;
  bool reading_ = false;
  bool writing_ = false;
  bool open_ = false;
};

}  // namespace vitrine::api
