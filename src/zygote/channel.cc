// SPDX-License-Identifier: Apache-2.0
#include "zygote/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "wire/message_frames.h"
#include "wire/messages.h"

namespace vitrine::zygote {

namespace {

std::string python_version;  // set once, before the first fork

Status send_datagram(int socket, std::string_view before, std::string_view header,
                     std::string_view payload) {
  iovec parts[3];
  std::size_t count = 0;
  for (const std::string_view part : {before, header, payload})
    if (!part.empty()) parts[count++] = {const_cast<char*>(part.data()), part.size()};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  for (;;) {
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) >= 0) return ok();
    if (errno != EINTR) return Error::from_errno("writing to the session socket");
  }
}

}  // namespace

void set_python_version(std::string version) { python_version = std::move(version); }

Result<std::optional<wire::Message>> Channel::receive(const sigset_t& open) {
  if (broken_) return Error{Code::unavailable, "the client broke the protocol"};
  static char datagram[wire::kMaxFrame];
  pollfd readable{.fd = socket_, .events = POLLIN, .revents = 0};
  if (::ppoll(&readable, 1, nullptr, &open) < 0) return Error{Code::timed_out, "a signal came"};
  const ssize_t got = ::recv(socket_, datagram, sizeof datagram, MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN))
    return Error{Code::timed_out, "a signal came"};
  if (got < 0) return Error::from_errno("reading the session socket");
  if (got == 0) return Error{Code::unavailable, "the session socket is closed"};
  Result<wire::Frame> frame = wire::decode_frame({datagram, static_cast<std::size_t>(got)});
  Result<std::optional<wire::Message>> message = std::optional<wire::Message>{};
  if (frame) message = assembler_.add(*frame);
  if (!frame || !message) {
    broken_ = true;  // later bytes cannot be trusted to be frames
    return Error{Code::unavailable, "the client broke the protocol"};
  }
  if (!*message) return message;
  if ((*message)->type == wire::Type::resume) {
    const Result<wire::Resume> resume = wire::Resume::decode((*message)->payload);
    if (!resume) {
      broken_ = true;
      return Error{Code::unavailable, "the client broke the protocol"};
    }
    if (Status s = replay(resume->token); !s) return std::move(s.error());
    return std::optional<wire::Message>{};
  }
  if ((*message)->type == wire::Type::captured) {
    captured_ = (*message)->execution;
    return std::optional<wire::Message>{};
  }
  if ((*message)->type == wire::Type::execute) {
    const std::lock_guard lock(sending_);
    execution_ = (*message)->execution;
    sequence_ = 0;
    sent_.clear();
    waiting_.clear();
    frames_waiting_ = 0;
  }
  return message;
}

bool Channel::captured(std::uint64_t execution, std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (captured_ != execution && !broken_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::max(end - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration{}));
    pollfd readable{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, static_cast<int>(left.count())) <= 0) return false;
    char header[wire::kHeaderSize];
    const ssize_t got = ::recv(socket_, header, sizeof header, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return false;
    if (got < static_cast<ssize_t>(sizeof header))
      return true;  // closed, or not a frame: receive() reports it
    const wire::Type type{static_cast<std::uint8_t>(header[3])};
    if (type == wire::Type::execute || type == wire::Type::setup) return true;
    sigset_t open;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &open);
    (void)receive(open);  // a late line of input is dropped
  }
  return true;
}

Status Channel::send_frame(const wire::Frame& frame) {
  const std::size_t size = wire::kHeaderSize + frame.payload.size();
  const auto header = wire::encode_header(frame);
  std::string before = std::exchange(waiting_, {});
  frames_waiting_ = 0;
  if (before.size() + size > wire::kMaxFrame) {
    if (Status s = send_datagram(socket_, before, {}, {}); !s) return s;
    before.clear();
  }
  return send_datagram(socket_, before, {header.data(), header.size()}, frame.payload);
}

bool Channel::keep_waiting(const wire::Frame& frame) {
  const std::size_t size = wire::kHeaderSize + frame.payload.size();
  if (frame.more() || frame.rest() || waiting_.size() + size > wire::kMaxFrame ||
      frames_waiting_ + 1 >= wire::kMaxTogether)
    return false;
  waiting_ += wire::encode_frame(frame);
  ++frames_waiting_;
  return true;
}

Status Channel::send(wire::Type type, std::uint64_t execution, std::string_view payload,
                     When when) {
  if (payload.size() > wire::max_message(type))
    return Error{Code::over_limit, "the message is too long"};
  const std::lock_guard lock(sending_);
  if (execution != execution_) return ok();
  for (wire::MessageFrames frames(type, execution, payload, sequence_); frames.any();) {
    const wire::Frame frame = frames.next();
    sequence_ = frame.sequence + 1;
    sent_.push_back({type, frame.flags, std::string(frame.payload)});
    if (when == When::now || !keep_waiting(frame))
      if (Status s = send_frame(frame); !s) return s;
  }
  return ok();
}

Status Channel::flush() {
  const std::lock_guard lock(sending_);
  frames_waiting_ = 0;
  if (waiting_.empty()) return ok();
  return send_datagram(socket_, std::exchange(waiting_, {}), {}, {});
}

Status Channel::send_ready() {
  const std::string payload =
      wire::Ready{.python = python_version, .last_execution = execution_}.encode();
  return send_frame({wire::Type::ready, 0, execution_, 0, payload});
}

void Channel::send_line(std::uint64_t execution, std::uint32_t line) {
  const std::string payload = wire::Line{line}.encode();
  const std::string datagram =
      wire::encode_frame({.type = wire::Type::line, .execution = execution, .payload = payload});
  ::send(socket_, datagram.data(), datagram.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Status Channel::replay(std::uint64_t token) {
  const std::lock_guard lock(sending_);
  const std::string payload =
      wire::Ready{.python = python_version, .last_execution = execution_, .token = token}.encode();
  if (Status s = send_frame({wire::Type::ready, wire::kReplay, execution_, 0, payload}); !s)
    return s;
  std::uint32_t sequence = 0;
  for (const Sent& frame : sent_) {
    const auto flags = static_cast<std::uint8_t>(frame.flags | wire::kReplay);
    if (Status s = send_frame({frame.type, flags, execution_, sequence++, frame.payload}); !s)
      return s;
  }
  return ok();
}

}  // namespace vitrine::zygote
