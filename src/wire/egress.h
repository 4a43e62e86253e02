// SPDX-License-Identifier: Apache-2.0
// keeper -> proxy: what a session's proxy may do (EgressSetup, on a pipe, once).
// proxy -> front: what it decided (EgressMessage, on a SEQPACKET line), and a file of counters.
//
// Trust: the front treats the proxy as hostile: it reads the bytes that session code and servers
//        send. decode_egress() is bounded, and what it gives is plain text and numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/network.h"

namespace vitrine::wire {

inline constexpr std::size_t kMaxPrivateRanges = 256;

struct EgressSetup {
  std::vector<std::string> allow;     // rules of model/network.h
  std::vector<std::string> private_;  // ranges that the operator opened
  std::uint16_t gate = 0;    // a port of the host's 127.0.0.1 that may be reached as well; 0 = none
  std::uint32_t starts = 0;  // proxies that this session has had before

  static void visit_fields(auto& io, auto& m) {
    const auto text = [&](auto& one) { io(one); };
    io.template list<std::uint32_t>(m.allow, kMaxNetworkRules, text);
    io.template list<std::uint32_t>(m.private_, kMaxPrivateRanges, text);
    io(m.gate, m.starts);
  }
};
std::string encode_egress_setup(const EgressSetup& setup);
Result<EgressSetup> decode_egress_setup(std::string_view bytes);

inline constexpr std::size_t kMaxEgressMessage = 1024;
inline constexpr std::size_t kMaxReason = 200;
inline constexpr std::size_t kEgressSlots = 64;  // connections of a proxy at a time

struct ProxyStarted {
  std::uint32_t starts = 0;  // 0 = the first of its session
  static void visit_fields(auto& io, auto& m) { io(m.starts); }
};
struct Decided {
  std::uint64_t connection = 0;  // counted up by the proxy
  std::uint32_t slot = 0;        // where its counters are while it lives
  NetworkEntry entry;

  static void visit_fields(auto& io, auto& m) {
    io(m.connection);
    io.between(m.slot, 0, kEgressSlots - 1);
    io(m.entry);
  }
};
struct Closed {
  std::uint64_t connection = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  static void visit_fields(auto& io, auto& m) { io(m.connection, m.sent, m.received); }
};
// From the keeper, on the same line: the proxy died too often and is not started again.
struct ProxyGone {};

using EgressMessage = std::variant<ProxyStarted, Decided, Closed, ProxyGone>;
std::string encode_egress(const EgressMessage& message);
Result<EgressMessage> decode_egress(std::string_view packet);

// The file of counters: one per slot, and one of decisions that came too fast to be told (`sent`).
// The proxy counts before it hands bytes on, so whoever has seen an answer finds it counted.
inline constexpr std::size_t kEgressCounters = kEgressSlots + 1;
struct EgressCounter {
  std::uint64_t connection = 0;  // 0 = none
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};
static_assert(sizeof(EgressCounter) == 24);

}  // namespace vitrine::wire
