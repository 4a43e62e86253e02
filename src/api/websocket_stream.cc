// SPDX-License-Identifier: Apache-2.0
#include "api/websocket_stream.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/websocket.hpp>

#include "service/async.h"

namespace vitrine::api {

namespace beast = boost::beast;
namespace websocket = beast::websocket;
using boost::system::error_code;

namespace {

constexpr std::size_t kMaxWaiting = 64;       // messages that the route has not taken
constexpr std::size_t kMaxUnsent = 1u << 20;  // bytes that the peer has not taken
constexpr std::chrono::seconds kCloseTime{2};

auto token_of(error_code& failed) { return asio::redirect_error(asio::use_awaitable, failed); }

}  // namespace

WebSocketStream::WebSocketStream(beast::tcp_stream stream, std::size_t max_message)
    : stream_(std::move(stream)), changes_(stream_.get_executor()) {
  beast::get_lowest_layer(stream_).expires_never();
  stream_.set_option(websocket::stream_base::timeout::suggested(beast::role_type::server));
  stream_.read_message_max(max_message);
}

Task<bool> WebSocketStream::accept(const http::request<http::empty_body>& request) {
  error_code failed;
  co_await stream_.async_accept(request, token_of(failed));
  if (failed) co_return false;
  open_ = reading_ = writing_ = true;
  auto self = shared_from_this();
  spawn(
      stream_.get_executor(), [](auto me) -> Task<void> { co_await me->read_all(); }(self),
      "websocket reader");
  spawn(
      stream_.get_executor(), [](auto me) -> Task<void> { co_await me->write_all(); }(self),
      "websocket writer");
  co_return true;
}

Task<void> WebSocketStream::read_all() {
  beast::flat_buffer buffer;
  while (open_) {
    if (inbox_.size() >= kMaxWaiting || inbox_bytes_ > stream_.read_message_max()) {
      co_await changes_.wait();
      continue;
    }
    error_code failed;
    co_await stream_.async_read(buffer, token_of(failed));
    if (failed) break;
    inbox_.push_back({beast::buffers_to_string(buffer.data()), stream_.got_text()});
    inbox_bytes_ += inbox_.back().data.size();
    buffer.consume(buffer.size());
    changes_.notify_all();
  }
  open_ = reading_ = false;
  changes_.notify_all();
}

Task<void> WebSocketStream::write_all() {
  error_code failed;
  while (!failed && (open_ || !outbox_.empty() || closing_)) {
    if (outbox_.empty()) {
      if (!closing_) {
        co_await changes_.wait();
        continue;
      }
      open_ = false;
      changes_.notify_all();
      co_await stream_.async_close(*closing_, token_of(failed));
      break;
    }
    const Message message = std::move(outbox_.front());
    outbox_.pop_front();
    stream_.text(message.is_text);
    co_await stream_.async_write(asio::buffer(message.data), token_of(failed));
    outbox_bytes_ -= message.data.size();
    changes_.notify_all();
  }
  open_ = writing_ = false;
  // The reader may be waiting for a peer that will never speak again.
  if (failed) beast::get_lowest_layer(stream_).cancel();
  changes_.notify_all();
}

Task<std::optional<WebSocket::Message>> WebSocketStream::next() {
  while (inbox_.empty() && open_) co_await changes_.wait();
  if (inbox_.empty() || closing_) co_return std::nullopt;
  Message message = std::move(inbox_.front());
  inbox_.pop_front();
  inbox_bytes_ -= message.data.size();
  changes_.notify_all();
  co_return message;
}

Task<bool> WebSocketStream::send(Message message) {
  if (!open_ || closing_) co_return false;
  outbox_bytes_ += message.data.size();
  outbox_.push_back(std::move(message));
  changes_.notify_all();
  while (open_ && outbox_bytes_ > kMaxUnsent) co_await changes_.wait();
  co_return open_;
}

void WebSocketStream::begin_close(Close code, std::string_view reason) {
  if (closing_) return;
  closing_ = websocket::close_reason(static_cast<websocket::close_code>(code),
                                     beast::string_view(reason.data(), reason.size()));
  changes_.notify_all();
}

Task<void> WebSocketStream::close(Close code, std::string_view reason) {
  begin_close(code, reason);
  const auto latest = Clock::now() + kCloseTime;
  while ((reading_ || writing_) && Clock::now() < latest) co_await changes_.wait(latest);
  if (reading_ || writing_) beast::get_lowest_layer(stream_).close();
}

Task<void> WebSocketStream::gone() {
  while (open_ && !closing_) co_await changes_.wait();
}

}  // namespace vitrine::api
