// SPDX-License-Identifier: Apache-2.0
// The head of a request to the proxy: CONNECT host:port, or METHOD http://host/path, read strictly.
//
// Trust: every byte is hostile. Whatever two parsers could read differently is refused: bare line
//        feeds, folded lines, duplicate lengths, transfer codings, hosts in unusual notations. The
//        head for the server is written anew from the parsed parts. Fuzzed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace vitrine::egress {

inline constexpr std::size_t kMaxHead = 16 * 1024;

// The length of the head; nullopt = more bytes are needed. A line that ends without CR counts as the
// end: parse_request() refuses it.
std::optional<std::size_t> head_size(std::string_view bytes);

struct Request {
  bool tunnel = false;  // CONNECT
  std::string host;     // normalised, see model/network.h
  std::uint16_t port = 0;
  std::string head;        // for the server; empty for a tunnel
  std::uint64_t body = 0;  // bytes that follow; not for a tunnel
};

struct Refusal {
  int status = 400;
  std::string reason;  // one line of ASCII for the author of the code
};

std::variant<Request, Refusal> parse_request(std::string_view head);

// "example.org:443", "[2001:db8::1]:443"
std::string authority(std::string_view host, std::uint16_t port);

}  // namespace vitrine::egress
