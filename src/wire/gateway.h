// SPDX-License-Identifier: Apache-2.0
// What the front and `vitrine-gateway` send each other (src/gateway/gateway.h).
//
// One SEQPACKET socket, one message in a datagram. The front sends Start, first and once, with two
// descriptors: a TCP socket that listens on the host's loopback, and a file with certificates in PEM
// form (empty = those of the host). The gateway answers Started once it is sealed, or Failed and
// exits. Then the front sends Admit and Release, which have no answer. The gateway exits when the
// front closes the socket.
//
// Trust: the front is trusted by the gateway. The gateway reads hostile bytes, so the front decodes its
// answers with bounds. A decoder accepts exactly what an encoder makes; anything else is
// `invalid_argument`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "model/index_url.h"

namespace vitrine::wire::gateway {

inline constexpr std::size_t kMaxPacket = 16 * 1024;
inline constexpr std::size_t kMaxTicket = 128;
inline constexpr std::size_t kMaxHost = 255;
inline constexpr std::size_t kMaxPath = 4096;
inline constexpr std::size_t kMaxCredentials = 8192;
inline constexpr std::size_t kMaxDetail = 512;
inline constexpr std::size_t kMaxCertificates = 4u << 20;  // bytes of the file
inline constexpr std::size_t kMaxTickets = 1024;           // at the same time

// front -> gateway.
struct Start {};

// Requests with this `Authorization` header go to the index, with its credentials in place of it.
struct Admit {
  std::string ticket;
  IndexUrl index;

  static void visit_fields(auto& io, auto& m) {
    io.text(m.ticket, kMaxTicket);
    io(m.index.tls);
    io.text(m.index.host, kMaxHost);
    io.text(m.index.port, 5);
    io.text(m.index.path, kMaxPath);
    io.text(m.index.authorization, kMaxCredentials);
    io.require(!m.ticket.empty() && !m.index.host.empty() && !m.index.port.empty());
  }
};

struct Release {
  std::string ticket;
  static void visit_fields(auto& io, auto& m) { io.text(m.ticket, kMaxTicket); }
};

using Request = std::variant<Start, Admit, Release>;

// gateway -> front.
struct Started {};
struct Failed {
  std::string detail;
  static void visit_fields(auto& io, auto& m) { io.text(m.detail, kMaxDetail); }
};

using Reply = std::variant<Started, Failed>;

std::string encode_request(const Request& request);
Result<Request> decode_request(std::string_view packet);
std::string encode_reply(const Reply& reply);
Result<Reply> decode_reply(std::string_view packet);

}  // namespace vitrine::wire::gateway
