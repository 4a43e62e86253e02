// SPDX-License-Identifier: Apache-2.0
#include "api/text.h"

#include "wire/messages.h"

namespace vitrine::api {

std::string as_text(std::string_view bytes) {
  std::string text(bytes);
  if (wire::is_utf8(bytes)) return text;
  for (char& c : text)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return text;
}

std::string shown(std::string_view name) {
  constexpr std::size_t kMost = 64;
  if (name.size() <= kMost) return as_text(name);
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return as_text(name.substr(0, end)) + "...";
}

std::string disposition(std::string_view path) {
  std::string plain;
  std::string exact;
  for (char c : path.substr(path.rfind('/') + 1)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    plain += unreserved || c == ' ' ? c : '_';
    if (unreserved) {
      exact += c;
    } else {
      exact += '%';
      exact += "0123456789ABCDEF"[byte >> 4];
      exact += "0123456789ABCDEF"[byte & 15];
    }
  }
  return "attachment; filename=\"" + plain + "\"; filename*=UTF-8''" + exact;
}

}  // namespace vitrine::api
