// SPDX-License-Identifier: Apache-2.0
#include "egress/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace vitrine::egress {

namespace {

constexpr std::size_t kReadSize = 16 * 1024;

// The result of one read: bytes, end of stream, nothing yet, or an error.
struct Got {
  std::string_view bytes;
  bool end = false;
  bool broken = false;
};

Got receive(int socket, std::array<char, kReadSize>& space, std::uint64_t most) {
  const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(most, space.size()));
  const ssize_t got = ::recv(socket, space.data(), size, MSG_DONTWAIT);
  if (got > 0) return {.bytes = {space.data(), static_cast<std::size_t>(got)}};
  if (got == 0) return {.end = true};
  return {.broken = errno != EAGAIN && errno != EINTR};
}

Moved send_from(int socket, Buffer& buffer) {
  if (buffer.empty()) return Moved::on;
  const std::string_view bytes = buffer.view();
  const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) buffer.drop(static_cast<std::size_t>(sent));
  return sent < 0 && errno != EAGAIN && errno != EINTR ? Moved::broken : Moved::on;
}

}  // namespace

void Buffer::add(std::string_view more) {
  if (empty()) {
    bytes_.clear();
    at_ = 0;
  } else if (at_ >= kMaxBuffer) {
    bytes_.erase(0, at_);
    at_ = 0;
  }
  bytes_ += more;
}

void Buffer::drop(std::size_t count) { at_ += count; }

std::uint32_t wanted_of_client(const Connection& c) {
  std::uint32_t events = 0;
  const bool relays = c.state == State::relaying && !c.client_done && !c.surplus && !c.up.full();
  if (c.state == State::head || relays || (c.state == State::answering && !c.client_done))
    events |= EPOLLIN;
  if (!c.down.empty()) events |= EPOLLOUT;
  return events;
}

std::uint32_t wanted_of_server(const Connection& c) {
  if (c.state == State::connecting) return EPOLLOUT;
  if (c.state != State::relaying) return 0;
  std::uint32_t events = 0;
  if (!c.server_done && !c.down.full()) events |= EPOLLIN;
  if (!c.up.empty()) events |= EPOLLOUT;
  return events;
}

Moved read_client(Connection& c) {
  std::array<char, kReadSize> space;
  if (c.state == State::answering) {
    const Got got = receive(c.client.get(), space, space.size());
    if (got.end) c.client_done = true;
    return got.broken ? Moved::broken : Moved::on;
  }
  if (c.state != State::relaying || c.up.full()) return Moved::on;
  const bool over = !c.request.tunnel && c.body_left == 0;
  const Got got =
      receive(c.client.get(), space, over || c.request.tunnel ? space.size() : c.body_left);
  if (got.broken) return Moved::broken;
  if (got.end) c.client_done = true;
  if (got.bytes.empty()) return Moved::on;
  if (over) {  // one connection carries one request
    c.surplus = true;
    return Moved::on;
  }
  if (!c.request.tunnel) c.body_left -= got.bytes.size();
  c.sent += got.bytes.size();
  c.up.add(got.bytes);
  return Moved::on;
}

Moved read_server(Connection& c) {
  std::array<char, kReadSize> space;
  if (c.state != State::relaying || c.server_done || c.down.full()) return Moved::on;
  const Got got = receive(c.server.get(), space, space.size());
  // Bytes that came before the error still go to the client.
  if (got.end || got.broken) c.server_done = true;
  c.received += got.bytes.size();
  c.down.add(got.bytes);
  return Moved::on;
}

Moved write_client(Connection& c) { return send_from(c.client.get(), c.down); }

Moved write_server(Connection& c) {
  if (c.state != State::relaying) return Moved::on;
  // A server that has stopped reading may still send.
  if (send_from(c.server.get(), c.up) == Moved::broken) {
    c.client_done = true;
    c.shut_server = true;
    c.up = Buffer{};
  }
  return Moved::on;
}

bool finish_sides(Connection& c) {
  if (c.state == State::answering) {
    if (c.down.empty() && !c.shut_client) {
      ::shutdown(c.client.get(), SHUT_WR);
      c.shut_client = true;
    }
    return c.shut_client && c.client_done;
  }
  if (c.state != State::relaying) return false;
  if (c.request.tunnel && c.client_done && c.up.empty() && !c.shut_server) {
    ::shutdown(c.server.get(), SHUT_WR);
    c.shut_server = true;
  }
  if (c.server_done && c.down.empty() && !c.shut_client) {
    ::shutdown(c.client.get(), SHUT_WR);
    c.shut_client = true;
  }
  if (!c.request.tunnel) return c.shut_client;
  return c.shut_client && c.shut_server;
}

}  // namespace vitrine::egress
