// SPDX-License-Identifier: Apache-2.0
#include "model/network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace vitrine {

namespace {

constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxLabel = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_label_character(char c) {
  return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kMaxLabel && label.front() != '-' &&
         label.back() != '-' && std::ranges::all_of(label, is_label_character);
}

// What inet_aton() would take for a number: 127.1, 0x7f.1, 2130706433, 017700000001.
bool ends_like_a_number(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return std::ranges::all_of(last, is_digit) || last.starts_with("0x");
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName || ends_like_a_number(name)) return false;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t dot = std::min(name.find('.', from), name.size());
    if (!is_label(name.substr(from, dot - from))) return false;
    from = dot + 1;
  }
  return true;
}

bool is_printed_by(int family, std::string_view host) {
  std::array<unsigned char, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const std::string copy(host);
  return copy.size() == host.size() && copy.find('\0') == std::string::npos &&
         ::inet_pton(family, copy.c_str(), bytes.data()) == 1 &&
         ::inet_ntop(family, bytes.data(), text.data(), text.size()) != nullptr &&
         copy == text.data();
}

Error bad_rule(std::string_view text, std::string_view why, std::string_view remedy) {
  std::string shown;
  for (char c : text.substr(0, 80))
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return Error{.code = Code::invalid_argument,
               .message = "\"" + shown + "\" " + std::string(why),
               .remedy = std::string(remedy)};
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0 || text[0] == '0')
    return std::nullopt;
  return port;
}

}  // namespace

std::optional<HostKind> host_kind(std::string_view host) {
  if (is_printed_by(AF_INET, host)) return HostKind::ipv4;
  if (is_printed_by(AF_INET6, host)) return HostKind::ipv6;
  if (is_name(host)) return HostKind::name;
  return std::nullopt;
}

bool NetworkRule::matches(std::string_view named, std::uint16_t at) const {
  if (port ? at != *port : at != 80 && at != 443) return false;
  if (!below) return named == host;
  return named.size() > host.size() + 1 && named.ends_with(host) &&
         named[named.size() - host.size() - 1] == '.' && host_kind(named) == HostKind::name;
}

Result<NetworkRule> parse_network_rule(std::string_view text) {
  constexpr std::string_view kExample =
      "write a host with an optional port, such as \"example.org\", \"*.example.org\" or "
      "\"example.org:8443\"";
  if (text.empty() || text.size() > kMaxRuleSize) return bad_rule(text, "is not a rule", kExample);
  if (text.find("://") != std::string_view::npos || text.find('/') != std::string_view::npos)
    return bad_rule(text, "is not a host: rules have no scheme and no path", kExample);
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return bad_rule(text, "is not ASCII", "write the name in punycode (xn--...)");
  NetworkRule rule;
  std::string_view host = text;
  std::string_view port;
  if (text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return bad_rule(text, "has no ']'", kExample);
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && (rest.front() != ':' || rest.size() == 1))
      return bad_rule(text, "has something other than a port after the ']'", kExample);
    if (!rest.empty()) port = rest.substr(1);
    if (host_kind(host) != HostKind::ipv6)
      return bad_rule(text, "is not an IPv6 address in its short form",
                      "write it in lower case and as short as possible, such as [2001:db8::1]");
    rule.host = std::string(host);
  } else {
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos) {
      host = text.substr(0, colon);
      port = text.substr(colon + 1);
      if (port.empty() || port.find(':') != std::string_view::npos)
        return bad_rule(text, "has an invalid port",
                        "write IPv6 addresses in brackets: \"[2001:db8::1]:443\"");
    }
    if (host == "*")
      return bad_rule(text, "would allow every host", "name the hosts, such as \"*.example.org\"");
    rule.below = host.starts_with("*.");
    rule.host = lowered(rule.below ? host.substr(2) : host);
    const std::optional<HostKind> kind = host_kind(rule.host);
    if (rule.host.find('*') != std::string::npos)
      return bad_rule(text, "has a * that is not at the beginning", kExample);
    if (!kind || kind == HostKind::ipv6)
      return bad_rule(text, "is neither a host name nor an IPv4 address in its usual form",
                      kExample);
    if (rule.below && kind != HostKind::name)
      return bad_rule(text, "has a * before an address", "name each address");
    if (rule.below && rule.host.find('.') == std::string::npos)
      return bad_rule(text, "would allow a whole top-level domain",
                      "name at least two labels, such as \"*.example.org\"");
  }
  if (port.data() != nullptr && !(rule.port = parse_port(port)))
    return bad_rule(text, "has a port that is not a number from 1 to 65535", kExample);
  return rule;
}

Status Network::validate() const {
  if ((allow.empty() && gateway_port == 0) || allow.size() > kMaxNetworkRules)
    return Error{.code = Code::invalid_argument,
                 .message = "it has " + std::to_string(allow.size()) + " rules",
                 .remedy = "give 1 to 64, or leave network out for a session without one"};
  for (const std::string& text : allow)
    if (Result<NetworkRule> rule = parse_network_rule(text); !rule) return std::move(rule.error());
  return ok();
}

Result<AddressRange> parse_address_range(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string host(text.substr(0, slash));
  const std::optional<HostKind> kind = host_kind(host);
  const bool v4 = kind == HostKind::ipv4;
  AddressRange range{.prefix = {}, .bits = v4 ? 32u : 128u};
  bool good = kind && kind != HostKind::name && host.find('\0') == std::string::npos;
  if (good && slash != std::string_view::npos) {
    const std::string_view bits = text.substr(slash + 1);
    const unsigned most = range.bits;
    const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), range.bits);
    good = error == std::errc{} && end == bits.data() + bits.size() && range.bits <= most;
  }
  if (!good)
    return bad_rule(text, "is not a network",
                    "write an address and the length of its prefix, such as 10.1.0.0/16");
  range.prefix.resize(v4 ? 4 : 16);
  ::inet_pton(v4 ? AF_INET : AF_INET6, host.c_str(), range.prefix.data());
  return range;
}

std::string_view to_string(NetworkDecision decision) {
  switch (decision) {
    case NetworkDecision::allowed: return "allowed";
    case NetworkDecision::refused: return "refused";
    case NetworkDecision::failed: return "failed";
  }
  return "?";
}

}  // namespace vitrine
