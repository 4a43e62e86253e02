// SPDX-License-Identifier: Apache-2.0
// What a session's proxy told, until the execution it belongs to ends: decisions in order, with the
// bytes that went each way meanwhile. Connections that outlive an execution are told again by the
// next one that uses them, with what was added.
//
// Trust: the proxy is not believed: entries are few, numbers only grow, and the rest is a count.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "wire/egress.h"

namespace vitrine::session {

inline constexpr std::size_t kMaxNetworkEntries = 100;  // of one execution

class NetworkLog {
 public:
  void add(const wire::EgressMessage& message);
  // The proxy's file, as it is now.
  void count(std::span<const wire::EgressCounter, wire::kEgressCounters> counters);

  struct Report {
    std::vector<NetworkEntry> entries;
    std::uint64_t omitted = 0;
    std::vector<std::string> notes;
  };
  // Of the execution that ends now.
  Report take();

 private:
  struct Connection {
    NetworkEntry entry;  // with all its bytes
    std::uint64_t sent_before = 0;
    std::uint64_t received_before = 0;
    bool open = false;
    bool told = false;
  };
  void close_all();
  static void grow(Connection& connection, std::uint64_t sent, std::uint64_t received);

  std::map<std::uint64_t, Connection> connections_;
  std::uint64_t omitted_ = 0;
  std::uint64_t unsaid_ = 0;  // of this proxy, so far
  std::vector<std::string> notes_;
};

}  // namespace vitrine::session
