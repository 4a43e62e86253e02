// SPDX-License-Identifier: Apache-2.0
// The URL of a package index, split into its parts, so that the credentials can be kept apart. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/network.h"

namespace vitrine {

struct IndexUrl {
  bool tls = true;
  std::string host;                // IPv6 without brackets
  std::string port;                // never empty
  std::string path;                // "/simple", never empty
  std::string authorization = {};  // the header's value; "" = no credentials

  std::string authority() const;  // "host:port", as in a network rule
  std::string origin() const;     // "https://host", with the port unless it is the default
  std::string plain() const { return origin() + path; }
};

// Nullopt for anything but an http(s) URL.
std::optional<IndexUrl> parse_index_url(std::string_view url);

// Whether the end of a password in the URL is unambiguous. A URL for which this is false must not be
// used, shown or logged. A `/`, `?`, `#` or `@` in a password is written as %2F, %3F, %23, %40.
inline bool is_plain_about_secrets(std::string_view url) {
  const std::size_t at = url.rfind('@');
  if (at == std::string_view::npos) return true;
  if (!url.starts_with("http://") && !url.starts_with("https://")) return false;
  const std::size_t begin = url.find("://") + 3;
  return at < url.find_first_of("/?#", begin) && url.find('@', begin) == at;
}

// Checks further hosts that installations may reach. The text of `invalid_argument` says what is accepted
// and never repeats a value that may contain a password.
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

}  // namespace vitrine
