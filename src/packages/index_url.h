// SPDX-License-Identifier: Apache-2.0
// The URL of a package index, taken apart: credentials go one way, everything else another. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/network.h"

namespace vitrine::packages {

struct IndexUrl {
  bool tls = true;
  std::string host;                // IPv6 without brackets
  std::string port;                // never empty
  std::string path;                // "/simple", never empty
  std::string authorization = {};  // the header's value; "" = no credentials

  std::string authority() const;  // "host:port", as rules of a network have it
  std::string origin() const;     // "https://host", with the port unless it is the usual one
  std::string plain() const { return origin() + path; }
};

// None for what is no http(s) URL.
std::optional<IndexUrl> parse_index_url(std::string_view url);

// Whether it is plain where a secret in it ends, if there is one: another URL must not be used, told or
// logged. A `/`, `?`, `#` or `@` in a password is written as %2F, %3F, %23, %40.
inline bool is_plain_about_secrets(std::string_view url) {
  const std::size_t at = url.rfind('@');
  if (at == std::string_view::npos) return true;
  if (!url.starts_with("http://") && !url.starts_with("https://")) return false;
  const std::size_t begin = url.find("://") + 3;
  return at < url.find_first_of("/?#", begin) && url.find('@', begin) == at;
}

// Further hosts that installations reach. `invalid_argument` says what would be accepted, and never
// repeats what may hold a password.
inline constexpr std::size_t kMaxIndexHosts = 8;
inline Status check_index_hosts(const std::vector<std::string>& hosts) {
  constexpr const char* kAccepted =
      "write hosts with an optional port and commas between them, such as "
      "files.example.org,*.example.org,mirror.example.org:8443,[2001:db8::1]:443; no scheme, no "
      "path, "
      "no user and password (those go into --index-credentials)";
  const auto refuse = [&](std::string why) {
    return Error{.code = Code::invalid_argument,
                 .message = "index_hosts: " + std::move(why),
                 .remedy = kAccepted};
  };
  if (hosts.size() > kMaxIndexHosts)
    return refuse("more than " + std::to_string(kMaxIndexHosts) + " hosts are named");
  for (const std::string& host : hosts) {
    if (host.find('@') != std::string::npos) return refuse("a host has a user or password");
    if (Result<NetworkRule> rule = parse_network_rule(host); !rule)
      return refuse(std::move(rule.error().message));
  }
  return ok();
}

}  // namespace vitrine::packages
