// SPDX-License-Identifier: Apache-2.0
// One connection through the proxy: a client in the session, a server outside, and two bounded buffers
// between them. It moves bytes when it is told that it may; who decides is egress/proxy.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "egress/policy.h"
#include "egress/request.h"

namespace vitrine::egress {

using Clock = std::chrono::steady_clock;

inline constexpr std::size_t kMaxBuffer = 64 * 1024;  // in each direction

// Bytes on their way; what has been sent is dropped from the front.
class Buffer {
 public:
  bool empty() const { return at_ == bytes_.size(); }
  bool full() const { return bytes_.size() - at_ >= kMaxBuffer; }
  std::string_view view() const { return std::string_view(bytes_).substr(at_); }
  void add(std::string_view more);
  void drop(std::size_t count);

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

enum class State : std::uint8_t {
  head,        // the client's request is not whole yet
  resolving,   // its host is being looked up
  connecting,  // to one of its addresses
  relaying,    // bytes go both ways
  answering,   // a refusal goes out, and what still comes is thrown away
};

struct Connection {
  std::uint64_t number = 0;
  std::uint32_t slot = 0;
  State state = State::head;
  Fd client;
  Fd server;
  std::string head;  // as it comes
  Request request;
  std::vector<Address> addresses;
  std::size_t next_address = 0;
  std::string rule;
  Buffer up;                    // to the server
  Buffer down;                  // to the client
  std::uint64_t body_left = 0;  // that the client may still send; not for a tunnel
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  bool client_done = false;  // it sends no more
  bool server_done = false;
  bool shut_server = false;  // we have told it so
  bool shut_client = false;
  bool surplus = false;  // it sent more than one request
  bool decided = false;
  bool allowed = false;
  Clock::time_point deadline{};
  std::uint32_t client_events = 0;  // as epoll knows them
  std::uint32_t server_events = 0;
};

// What epoll is to wait for.
std::uint32_t wanted_of_client(const Connection& connection);
std::uint32_t wanted_of_server(const Connection& connection);

enum class Moved { on, broken };  // broken = an end is gone: close it

// One read or write each, of what is there; counted when read, so before they go on.
Moved read_client(Connection& connection);
Moved read_server(Connection& connection);
Moved write_client(Connection& connection);
Moved write_server(Connection& connection);
// Passes on the end of what one side sends; true when both are done.
bool finish_sides(Connection& connection);

}  // namespace vitrine::egress
