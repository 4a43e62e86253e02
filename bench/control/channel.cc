// SPDX-License-Identifier: Apache-2.0
#include "control/channel.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "wire/message_frames.h"

namespace vitrine::bench::control {

namespace {

enum class Sent { whole, later };

Result<Sent> send_now(int socket, std::string_view header, std::string_view payload) {
  iovec parts[2] = {{const_cast<char*>(header.data()), header.size()},
                    {const_cast<char*>(payload.data()), payload.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = payload.empty() ? 1 : 2;
  for (;;) {
    if (::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return Sent::whole;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return Sent::later;
    if (errno == EPIPE || errno == ECONNRESET)
      return Error{Code::unavailable, "the session's worker is gone"};
    return Error::from_errno("writing to a session");
  }
}

}  // namespace

Channel::Channel(Handover handover)
    : session_(handover.session),
      source_(handover.source),
      socket_(std::move(handover.socket)),
      out_(std::move(handover.out)),
      err_(std::move(handover.err)) {
  // The keeper shares the read ends and never reads; so this is ours to choose.
  for (int fd : {out_.get(), err_.get()}) (void)set_nonblocking(fd);
}

Status Channel::send(wire::Type type, std::uint64_t execution, std::string_view payload) {
  if (payload.size() > wire::max_message(type))
    return Error{.code = Code::over_limit,
                 .message = "the " + std::string(wire::to_string(type)) + " message is too long",
                 .remedy = "send less than " + std::to_string(wire::max_message(type)) + " bytes"};
  for (wire::MessageFrames frames(type, execution, payload); frames.any();) {
    const wire::Frame frame = frames.next();
    if (outbox_.empty()) {
      const auto header = wire::encode_header(frame);
      Result<Sent> sent = send_now(socket(), {header.data(), header.size()}, frame.payload);
      if (!sent) return std::move(sent.error());
      if (*sent == Sent::whole) continue;
    }
    outbox_.push_back(wire::encode_frame(frame));
  }
  return ok();
}

Status Channel::flush() {
  while (!outbox_.empty()) {
    Result<Sent> sent = send_now(socket(), outbox_.front(), {});
    if (!sent) return std::move(sent.error());
    if (*sent == Sent::later) return ok();
    outbox_.pop_front();
  }
  return ok();
}

Status Channel::setup(const wire::Setup& setup) {
  return send(wire::Type::setup, 0, setup.encode());
}

Status Channel::execute(std::uint64_t execution, const wire::Execute& execute) {
  return send(wire::Type::execute, execution, execute.encode());
}

Status Channel::input(std::uint64_t execution, const wire::Input& input) {
  return send(wire::Type::input, execution, input.encode());
}

Status Channel::resume() {
  assembler_.adopt();
  return send(wire::Type::resume, 0, wire::Resume{}.encode());
}

Result<std::optional<wire::Message>> Channel::receive() {
  thread_local std::array<char, wire::kMaxFrame> buffer;
  for (;;) {
    if (!inbox_.empty()) {
      std::optional<wire::Message> first = std::move(inbox_.front());
      inbox_.pop_front();
      return first;
    }
    // MSG_TRUNC: the true length, so that a frame that is too long cannot pass for a shorter one.
    const ssize_t got = ::recv(socket(), buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::optional<wire::Message>{};
    if (got == 0 || (got < 0 && errno == ECONNRESET))
      return Error{Code::unavailable, "the session's worker is gone"};
    if (got < 0) return Error::from_errno("reading from a session");
    if (static_cast<std::size_t>(got) > buffer.size())
      return Error{Code::over_limit, "a frame is too long"};
    wire::Together frames({buffer.data(), static_cast<std::size_t>(got)});
    while (frames.any()) {
      Result<wire::Frame> frame = frames.next();
      if (!frame) return std::move(frame.error());
      Result<std::optional<wire::Message>> message = assembler_.add(*frame);
      if (!message) return message;
      if (*message) inbox_.push_back(std::move(**message));
    }
  }
}

Result<bool> Channel::drain(Stream stream, Captured& into, std::size_t limit) {
  thread_local std::array<char, 64 * 1024> buffer;
  int there = 0;
  if (::ioctl(pipe(stream), FIONREAD, &there) != 0) return Error::from_errno("asking a pipe");
  bool any = false;
  for (auto left = static_cast<std::size_t>(std::max(there, 0)); left > 0;) {
    const ssize_t got = ::read(pipe(stream), buffer.data(), std::min(left, buffer.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || (got < 0 && errno == EAGAIN)) break;  // another client took it
    if (got < 0) return Error::from_errno("reading a pipe");
    any = true;
    const auto size = static_cast<std::size_t>(got);
    left -= size;
    const std::size_t room = limit - std::min(limit, into.bytes.size());
    into.bytes.append(buffer.data(), std::min(room, size));
    into.truncated = into.truncated || size > room;
  }
  return any;
}

bool Channel::ended(Stream stream) const {
  pollfd polled{.fd = pipe(stream), .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, 0) > 0 && (polled.revents & POLLIN) == 0;
}

}  // namespace vitrine::bench::control
