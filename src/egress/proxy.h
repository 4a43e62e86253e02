// SPDX-License-Identifier: Apache-2.0
// The proxy of one session. It accepts connections on a socket inside the session, checks them against
// the policy, connects and relays. It reports each decision before any byte is passed on.
//
// Bounds:    kEgressSlots connections (others wait in the socket's backlog), 64 KiB in each direction,
//            16 KiB of request head, a timeout for every state; decisions beyond kToldPerSecond are
//            counted, not reported.
// Redirects: none is followed; a client that follows one sends another request, which is checked again.
// Threading: one thread; lookups have their own.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "egress/connection.h"
#include "egress/policy.h"
#include "egress/resolver.h"
#include "wire/egress.h"

namespace vitrine::egress {

struct Times {
  std::chrono::milliseconds head{10'000};
  std::chrono::milliseconds resolve{10'000};
  std::chrono::milliseconds connect{10'000};
  std::chrono::milliseconds idle{300'000};
  // For a client that sent more than one request: the server closes after its first answer, and no
  // second answer will come.
  std::chrono::milliseconds surplus{5'000};
  std::chrono::milliseconds linger{2'000};
};

struct ProxyParts {
  Fd listener;
  Fd line;                             // SEQPACKET
  wire::EgressCounter* counters = {};  // kEgressCounters of them, in memory shared with the front
  Policy policy;
  Resolver resolver;
  Times times = {};
};

class Proxy {
 public:
  explicit Proxy(ProxyParts parts) : parts_(std::move(parts)) {}

  // Returns when the other end of `line` is closed.
  Status run();

 private:
  enum class Side : std::uint64_t { client = 0, server = 1 };

  Status watch(int fd, std::uint64_t tag);
  void rewatch(Connection& connection);
  void set_events(int fd, std::uint32_t& now, std::uint32_t wanted, std::uint64_t tag);
  void accept_some();
  void handle(std::uint64_t tag, std::uint32_t events);
  void read_head(Connection& connection);
  void judge(Connection& connection);
  void take_answers();
  void go(Connection& c, std::vector<Address> addresses);
  void judge_addresses(Connection& connection, std::vector<Address> addresses);
  void connect_next(Connection& connection);
  void connected(Connection& connection);
  void settle(Connection& connection);
  void refuse(Connection& connection, int status, const std::string& reason,
              NetworkDecision decision = NetworkDecision::refused);
  void decide(Connection& connection, NetworkDecision decision, std::string reason,
              const std::string& address);
  bool tell(const wire::EgressMessage& message);
  bool may_tell();
  void count(const Connection& connection);
  void close(Connection& connection);
  void run_timers();
  int wait_time() const;
  Connection* find(std::uint64_t number);

  ProxyParts parts_;
  Fd epoll_;
  bool accepting_ = false;
  bool over_ = false;
  std::uint64_t last_number_ = 0;
  std::array<std::unique_ptr<Connection>, wire::kEgressSlots> slots_;
  double tokens_ = 0;
  Clock::time_point filled_{};
};

}  // namespace vitrine::egress
