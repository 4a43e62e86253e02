// SPDX-License-Identifier: Apache-2.0
// One connection through the proxy: a client in the session, a server outside, and two bounded buffers
// between them. It only moves bytes; egress/proxy.h decides when.
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

// A queue of bytes.
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
  head,        // reading the client's request
  resolving,   // looking up its host
  connecting,  // connecting to one of its addresses
  relaying,    // bytes go both ways
  answering,   // sending a refusal; input is discarded
};

struct Connection {
  std::uint64_t number = 0;
  std::uint32_t slot = 0;
  State state = State::head;
  Fd client;
  Fd server;
  std::string head;  // received so far
  Request request;
  std::vector<Address> addresses;
  std::size_t next_address = 0;
  std::string rule;
  Buffer up;                    // to the server
  Buffer down;                  // to the client
  std::uint64_t body_left = 0;  // bytes that the client may still send; unused for a tunnel
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  bool client_done = false;  // it has shut down its sending side
  bool server_done = false;
  bool shut_server = false;  // its receiving side was shut down, too
  bool shut_client = false;
  bool surplus = false;  // the client sent more than one request
  bool decided = false;
  bool allowed = false;
  Clock::time_point deadline{};
  std::uint32_t client_events = 0;  // as registered with epoll
  std::uint32_t server_events = 0;
};

// The events to register with epoll.
std::uint32_t wanted_of_client(const Connection& connection);
std::uint32_t wanted_of_server(const Connection& connection);

enum class Moved { on, broken };  // broken = one end is gone: close the connection

// One read or write each. Bytes are counted when they are read, before they are passed on.
Moved read_client(Connection& connection);
Moved read_server(Connection& connection);
Moved write_client(Connection& connection);
Moved write_server(Connection& connection);
// Forwards the end of one side's stream; true when both are done.
bool finish_sides(Connection& connection);

}  // namespace vitrine::egress
