// SPDX-License-Identifier: Apache-2.0
// Where a session may connect to: rules, and the one spelling of a host that they are matched with.
//
// A rule is HOST or HOST:PORT. HOST is a name ("example.org"), all names below one
// ("*.example.org", never example.org itself), or an address as the kernel prints it ("192.0.2.7",
// "[2001:db8::1]"). Without a port it means 80 and 443. Whatever can be written in two ways is refused
// in all but one: no rule is passed by a spelling that nobody thought of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vitrine {

inline constexpr std::size_t kMaxNetworkRules = 64;
inline constexpr std::size_t kMaxRuleSize = 300;
inline constexpr std::uint16_t kProxyPort = 3128;  // on 127.0.0.1, inside the session

enum class HostKind : std::uint8_t { name, ipv4, ipv6 };

// What a host is, if it is written in the one way that counts: names in lower-case ASCII (others in
// punycode) without a dot at the end and with a last label that is no number; addresses as
// inet_ntop() writes them, IPv6 without brackets.
std::optional<HostKind> host_kind(std::string_view host);

struct NetworkRule {
  std::string host;  // without "*."
  bool below = false;
  std::optional<std::uint16_t> port;  // none = 80 and 443

  // `named` in its one spelling, see host_kind().
  bool matches(std::string_view named, std::uint16_t at) const;
};

// `invalid_argument` with what is wrong and what to write instead.
Result<NetworkRule> parse_network_rule(std::string_view text);

struct Network {
  std::vector<std::string> allow;
  // An installation of packages only; the API has no field that sets these. It may reach the
  // operator's index although that has no public address, and
  bool index = false;
  // this port of the host's own 127.0.0.1, where the gateway adds the index's credentials; 0 = none.
  std::uint16_t gateway_port = 0;

  // `invalid_argument` naming the first rule that is none. Only a network with a gateway may have no
  // rules.
  Status validate() const;
  bool operator==(const Network&) const = default;
};

// A network of the operator's own that sessions may reach in spite of being private: "10.1.0.0/16".
struct AddressRange {
  std::vector<std::uint8_t> prefix;  // 4 or 16 bytes
  unsigned bits = 0;
};
Result<AddressRange> parse_address_range(std::string_view text);

// One connection that session code asked for, as its execution's record tells it.
enum class NetworkDecision : std::uint8_t { allowed, refused, failed };
std::string_view to_string(NetworkDecision decision);

struct NetworkEntry {
  std::string host;  // "" = what was asked for is no host
  std::uint16_t port = 0;
  NetworkDecision decision = NetworkDecision::refused;
  std::string reason;
  std::string address;  // it was connected to; "" = none
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

}  // namespace vitrine
