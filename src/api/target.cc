// SPDX-License-Identifier: Apache-2.0
#include "api/target.h"

#include <algorithm>

namespace vitrine::api {

namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Takes "http://authority" off the front.
std::string take_authority(std::string_view& text) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    text.remove_prefix(scheme.size());
    const std::size_t end = std::min(text.find_first_of("/?"), text.size());
    std::string authority(text.substr(0, end));
    text.remove_prefix(end);
    return authority;
  }
  return "";
}

std::optional<std::map<std::string, std::string>> parse_query(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    std::string pair(text.substr(0, end));
    std::ranges::replace(pair, '+', ' ');
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = decode_percent(std::string_view(pair).substr(0, equals));
    const auto value =
        decode_percent(std::string_view(pair).substr(std::min(equals + 1, pair.size())));
    if (!name || !value) return std::nullopt;
    if (!name->empty()) query[*name] = *value;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return query;
}

}  // namespace

std::optional<std::string> decode_percent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex(text[i + 1]);
    const int low = hex(text[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::optional<Target> parse_target(std::string_view text) {
  Target target;
  const bool absolute = !text.starts_with('/');
  if (absolute) {
    target.authority = take_authority(text);
    if (target.authority.empty()) return std::nullopt;
  }
  const std::size_t mark = std::min(text.find('?'), text.size());
  auto path = decode_percent(text.substr(0, mark));
  auto query = parse_query(text.substr(std::min(mark + 1, text.size())));
  if (!path || !query) return std::nullopt;
  target.path = path->empty() ? "/" : std::move(*path);
  target.query = std::move(*query);
  return target;
}

}  // namespace vitrine::api
