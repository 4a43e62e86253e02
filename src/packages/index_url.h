// SPDX-License-Identifier: Apache-2.0
// The URL of a package index, taken apart: credentials go one way, everything else another. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace vitrine::packages
