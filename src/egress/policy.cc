// SPDX-License-Identifier: Apache-2.0
#include "egress/policy.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace vitrine::egress {

namespace {

struct Special {
  std::array<std::uint8_t, 16> prefix;
  unsigned bits;
  const char* why;
};

// IANA's registries of special-purpose addresses, in numerical order.
constexpr Special kSpecial4[] = {
    {{0}, 8, "this network"},
    {{10}, 8, "a private network"},
    {{100, 64}, 10, "carrier-grade NAT"},
    {{127}, 8, "loopback"},
    {{169, 254}, 16, "link-local, the range of cloud metadata services"},
    {{172, 16}, 12, "a private network"},
    {{192, 0, 0}, 24, "reserved for protocols"},
    {{192, 0, 2}, 24, "for documentation"},
    {{192, 88, 99}, 24, "a relay into IPv6"},
    {{192, 168}, 16, "a private network"},
    {{198, 18}, 15, "for benchmarks"},
    {{198, 51, 100}, 24, "for documentation"},
    {{203, 0, 113}, 24, "for documentation"},
    {{224}, 3, "multicast or reserved"},
};
// Only 2000::/3 is allocated to the Internet; these parts of it are not public.
constexpr Special kSpecial6[] = {
    {{0x20, 0x01, 0x00}, 23, "reserved for protocols"},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, "for documentation"},
    {{0x20, 0x02}, 16, "IPv4 inside IPv6"},
    {{0x3f, 0xff}, 20, "for documentation"},
};

bool in_prefix(const std::uint8_t* bytes, const std::uint8_t* prefix, unsigned bits) {
  const unsigned whole = bits / 8;
  if (std::memcmp(bytes, prefix, whole) != 0) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xFF << (8 - bits % 8));
  return (bytes[whole] & mask) == (prefix[whole] & mask);
}

}  // namespace

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> out{};
  return ::inet_ntop(family, bytes.data(), out.data(), out.size()) != nullptr ? out.data() : "?";
}

std::optional<Address> parse_address(const std::string& text) {
  const std::optional<HostKind> kind = host_kind(text);
  if (!kind || kind == HostKind::name) return std::nullopt;
  Address address{.family = kind == HostKind::ipv4 ? AF_INET : AF_INET6};
  if (::inet_pton(address.family, text.c_str(), address.bytes.data()) != 1) return std::nullopt;
  return address;
}

std::optional<Address> address_of(const sockaddr* given) {
  if (given == nullptr) return std::nullopt;
  Address address{.family = given->sa_family};
  if (given->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, given, sizeof v4);
    std::memcpy(address.bytes.data(), &v4.sin_addr, 4);
  } else if (given->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, given, sizeof v6);
    std::memcpy(address.bytes.data(), &v6.sin6_addr, 16);
  } else {
    return std::nullopt;
  }
  return address;
}

Address unmapped(const Address& address) {
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (address.family != AF_INET6 ||
      !std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin()))
    return address;
  Address inner{.family = AF_INET};
  std::copy(address.bytes.begin() + 12, address.bytes.end(), inner.bytes.begin());
  return inner;
}

const char* special_use(const Address& given) {
  const Address address = unmapped(given);
  const std::uint8_t* bytes = address.bytes.data();
  if (address.family == AF_INET) {
    for (const Special& one : kSpecial4)
      if (in_prefix(bytes, one.prefix.data(), one.bits)) return one.why;
    return nullptr;
  }
  if (address.family != AF_INET6) return "of an unknown kind";
  if ((bytes[0] & 0xE0) != 0x20) return "not a public IPv6 address";
  for (const Special& one : kSpecial6)
    if (in_prefix(bytes, one.prefix.data(), one.bits)) return one.why;
  return nullptr;
}

Result<Policy> Policy::make(const wire::EgressSetup& setup) {
  Policy policy;
  for (const std::string& text : setup.allow) {
    Result<NetworkRule> rule = parse_network_rule(text);
    if (!rule) return std::move(rule.error());
    policy.rules_.push_back(std::move(*rule));
    policy.texts_.push_back(text);
  }
  for (const std::string& text : setup.private_) {
    Result<AddressRange> range = parse_address_range(text);
    if (!range) return std::move(range.error());
    policy.private_.push_back(std::move(*range));
  }
  policy.gate_ = setup.gate;
  return policy;
}

const std::string* Policy::rule_for(const std::string& host, std::uint16_t port) const {
  if (!host_kind(host)) return nullptr;
  for (std::size_t i = 0; i < rules_.size(); ++i)
    if (rules_[i].matches(host, port)) return &texts_[i];
  return nullptr;
}

bool Policy::opened_by_operator(const Address& address, unsigned bits) const {
  const std::size_t size = address.family == AF_INET ? 4 : 16;
  return std::ranges::any_of(private_, [&](const AddressRange& range) {
    return range.prefix.size() == size && range.bits >= bits &&
           in_prefix(address.bytes.data(), range.prefix.data(), range.bits);
  });
}

std::optional<std::string> Policy::refuses(const Address& given,
                                           const std::vector<Address>& own) const {
  const Address address = unmapped(given);
  // A range that contains this machine does not allow it; only its exact address does.
  const bool is_own = std::ranges::find(own, address) != own.end();
  if (opened_by_operator(address, is_own ? (address.family == AF_INET ? 32 : 128) : 0))
    return std::nullopt;
  if (const char* why = special_use(address); why != nullptr) return why;
  if (is_own) return "the server's own";
  return std::nullopt;
}

std::optional<std::vector<Address>> own_addresses() {
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(found, ::freeifaddrs);
  std::vector<Address> own;
  for (const ifaddrs* one = found; one != nullptr; one = one->ifa_next)
    if (std::optional<Address> address = address_of(one->ifa_addr))
      own.push_back(unmapped(*address));
  return own;
}

}  // namespace vitrine::egress
