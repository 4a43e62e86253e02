// SPDX-License-Identifier: Apache-2.0
#include "model/index_url.h"

#include <algorithm>

#include "base/base64.h"

namespace vitrine {

namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string unquoted(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped =
        text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0;
    out += escaped ? static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2])) : text[i];
    if (escaped) i += 2;
  }
  return out;
}

std::string basic(std::string_view user_info) {
  const std::size_t colon = user_info.find(':');
  std::string text = unquoted(user_info.substr(0, colon)) + ":";
  if (colon != std::string_view::npos) text += unquoted(user_info.substr(colon + 1));
  return "Basic " + to_base64(text);
}

}  // namespace

std::string IndexUrl::authority() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

std::string IndexUrl::origin() const {
  const bool usual = port == (tls ? "443" : "80");
  std::string where = authority();
  if (usual) where.resize(where.size() - port.size() - 1);
  return (tls ? "https://" : "http://") + where;
}

std::optional<IndexUrl> parse_index_url(std::string_view url) {
  IndexUrl out;
  if (url.starts_with("http://")) out.tls = false;
  else if (!url.starts_with("https://")) return std::nullopt;
  url.remove_prefix(out.tls ? 8 : 7);
  const std::size_t end = std::min(url.find_first_of("/?#"), url.size());
  std::string_view where = url.substr(0, end);
  out.path = url.substr(end, url.find_first_of("?#") - end);
  if (out.path.empty()) out.path = "/";
  if (const std::size_t at = where.rfind('@'); at != std::string_view::npos) {
    out.authorization = basic(where.substr(0, at));
    where.remove_prefix(at + 1);
  }
  std::size_t colon = where.rfind(':');
  if (where.starts_with('[')) {
    const std::size_t bracket = where.find(']');
    if (bracket == std::string_view::npos) return std::nullopt;
    out.host = where.substr(1, bracket - 1);
    if (colon < bracket) colon = std::string_view::npos;
    const std::size_t end_of_host = std::min(colon, where.size());
    if (end_of_host != bracket + 1 || out.host.find(':') == std::string::npos ||
        out.host.find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos)
      return std::nullopt;
  } else {
    out.host = where.substr(0, colon);
    if (out.host.find_first_of("[]:\\") != std::string::npos) return std::nullopt;
  }
  if (colon != std::string_view::npos) out.port = where.substr(colon + 1);
  if (out.port.empty()) out.port = out.tls ? "443" : "80";
  for (char& c : out.host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const bool number = out.port.find_first_not_of("0123456789") == std::string::npos;
  if (out.host.empty() || !number || out.port.size() > 5) return std::nullopt;
  for (const std::string* part : {&out.host, &out.path})
    for (char c : *part)
      if (c <= ' ' || c == 127) return std::nullopt;
  return out;
}

}  // namespace vitrine
