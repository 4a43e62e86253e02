// SPDX-License-Identifier: Apache-2.0
#include "session/worker_socket.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "backend/spawn.h"
#include "base/packet.h"
#include "wire/message_frames.h"

namespace vitrine::session {

namespace asio = boost::asio;
using boost::system::error_code;
using Descriptor = asio::posix::stream_descriptor;

WorkerSocket::WorkerSocket(asio::any_io_executor executor, Fd socket, Origin origin)
    : socket_(std::move(executor), socket.release()) {
  socket_.non_blocking(true);
  if (origin == Origin::adopted) assembler_.adopt();
}

void WorkerSocket::send(wire::Type type, std::uint64_t number, std::string_view payload) {
  for (wire::MessageFrames frames(type, number, payload); frames.any();)
    unsent_.push_back(wire::encode_frame(frames.next()));
  if (flushing_) return;
  // The usual case goes out at once.
  while (!unsent_.empty() && send_packet(socket_.native_handle(), unsent_.front(), {}, Wait::dont))
    unsent_.pop_front();
  if (unsent_.empty()) return;
  flushing_ = true;
  spawn(
      socket_.get_executor(),
      [](auto self) -> asio::awaitable<void> { co_await self->flush(); }(shared_from_this()),
      "worker socket");
}

asio::awaitable<void> WorkerSocket::flush() {
  while (!stopped_ && !unsent_.empty()) {
    error_code failed;
    co_await socket_.async_wait(Descriptor::wait_write,
                                asio::redirect_error(asio::use_awaitable, failed));
    if (failed || stopped_) co_return;
    Status sent = send_packet(socket_.native_handle(), unsent_.front(), {}, Wait::dont);
    if (sent) unsent_.pop_front();
    else if (sent.error().code != Code::over_limit)
      co_return;  // the keeper will say why it is gone
  }
  flushing_ = false;
}

asio::awaitable<bool> WorkerSocket::readable() {
  error_code failed;
  co_await socket_.async_wait(Descriptor::wait_read,
                              asio::redirect_error(asio::use_awaitable, failed));
  co_return !failed && !stopped_;
}

Result<bool> WorkerSocket::take(int most, const std::function<void(const wire::Message&)>& show) {
  static std::array<char, wire::kMaxFrame> datagram;  // showing a message never comes back here
  while (most > 0) {
    iovec space{.iov_base = datagram.data(), .iov_len = datagram.size()};
    msghdr header{};  // no room for descriptors: the kernel drops them, and says so
    header.msg_iov = &space;
    header.msg_iovlen = 1;
    const ssize_t got =
        ::recvmsg(socket_.native_handle(), &header, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    // A worker that died before it read all we sent: the kernel says so once, and then gives what the
    // worker had said before.
    if (got < 0 && errno == ECONNRESET && !std::exchange(reset_, true)) continue;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    if ((header.msg_flags & MSG_CTRUNC) != 0)
      return Error{Code::invalid_argument, "it sent descriptors"};
    if (static_cast<std::size_t>(got) > datagram.size())
      return Error{Code::over_limit, "a frame is too big"};
    wire::Together frames({datagram.data(), static_cast<std::size_t>(got)});
    for (; frames.any(); --most) {
      Result<wire::Frame> frame = frames.next();
      if (!frame) return std::move(frame.error());
      Result<std::optional<wire::Message>> message = assembler_.add(*frame);
      if (!message) return std::move(message.error());
      if (*message) show(**message);
      if (stopped_) return false;
    }
  }
  return true;
}

void WorkerSocket::close() {
  stopped_ = true;
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace vitrine::session
