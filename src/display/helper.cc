// SPDX-License-Identifier: Apache-2.0
#include "display/helper.h"

#include <poll.h>
#include <sys/random.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "backend/spawn.h"
#include "base/packet.h"

namespace vitrine::display {

using boost::system::error_code;

namespace {

constexpr std::size_t kMaxWaiting = 64;
constexpr int kMaxRead = 64;  // at once

// Answers to a previous front may still arrive; random numbers keep them from matching ours.
std::uint32_t random_start() {
  std::uint32_t number = 0;
  (void)!::getrandom(&number, sizeof number, 0);
  return number;
}

Error restarted() {
  return Error{.code = Code::unavailable,
               .message = "the screen's helper was killed by a program and restarted",
               .remedy = "send the request again; parts of it may have taken effect"};
}

Error gone() { return Error{Code::unavailable, "the screen's helper is gone"}; }

}  // namespace

Helper::Helper(asio::any_io_executor executor, Fd socket)
    : executor_(executor), socket_(executor, socket.release()), last_number_(random_start()) {
  socket_.non_blocking(true);
}

void Helper::start() {
  spawn(
      executor_, [](auto self) -> Task<void> { co_await self->read(); }(shared_from_this()),
      "screen helper");
}

void Helper::close() {
  gone_ = true;
  error_code ignored;
  socket_.close(ignored);
  for (auto& [number, one] : waiting_) one->timer.cancel();
}

bool Helper::is_readable() {
  pollfd socket{.fd = socket_.native_handle(), .events = POLLIN, .revents = 0};
  return ::poll(&socket, 1, 0) > 0;
}

// False when no more packets can come.
bool Helper::take_one() {
  Result<Packet> packet =
      receive_packet(socket_.native_handle(), wire::screen::kMaxPacket, 1, Wait::dont);
  if (!packet) return packet.error().code == Code::timed_out;
  Result<wire::screen::NumberedReply> decoded = wire::screen::decode_reply(packet->bytes);
  if (!decoded) return false;
  if (const auto* ready = std::get_if<wire::screen::Ready>(&decoded->reply)) {
    if (ready->again) forget_all();
    return true;
  }
  const auto found = waiting_.find(decoded->number);
  if (found == waiting_.end()) return true;
  found->second->reply = HelperReply{std::move(decoded->reply)};
  if (!packet->fds.empty()) found->second->reply->file = std::move(packet->fds[0]);
  found->second->timer.cancel();
  return true;
}

// Requests to the previous helper get no answer.
void Helper::forget_all() {
  restarted_ = true;
  for (auto& [number, one] : waiting_) {
    one->lost = true;
    one->timer.cancel();
  }
}

Task<void> Helper::read() {
  while (!gone_) {
    error_code failed;
    co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                                asio::redirect_error(asio::use_awaitable, failed));
    if (failed || gone_ || !take_one()) break;
  }
  close();
}

Task<Result<HelperReply>> Helper::ask(wire::screen::Request request,
                                      std::chrono::milliseconds timeout) {
  // Packets that arrived earlier cannot answer this request; one may say that the helper restarted.
  for (int i = 0; i < kMaxRead && !gone_ && is_readable(); ++i)
    if (!take_one()) close();
  if (gone_) co_return gone();
  if (waiting_.size() >= kMaxWaiting)
    co_return Error{.code = Code::unavailable,
                    .message = "too many requests to the screen at once",
                    .remedy = "wait for an answer before sending more"};
  if (++last_number_ == 0) ++last_number_;
  const std::uint32_t number = last_number_;
  const std::string packet = wire::screen::encode_request(number, request);
  if (Status sent = send_packet(socket_.native_handle(), packet, {}, Wait::dont); !sent)
    co_return std::move(sent.error()).during("asking the screen's helper");
  auto self = shared_from_this();
  auto mine = std::make_shared<Waiting>(executor_);
  waiting_[number] = mine;
  mine->timer.expires_after(timeout);
  error_code ignored;
  co_await mine->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  waiting_.erase(number);
  if (mine->reply) co_return std::move(*mine->reply);
  if (gone_) co_return gone();
  if (mine->lost) co_return restarted();
  co_return Error{Code::timed_out, "the screen's helper does not answer"};
}

}  // namespace vitrine::display
