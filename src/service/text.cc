// SPDX-License-Identifier: Apache-2.0
#include "service/text.h"

#include "session/worker_rules.h"

namespace vitrine::service {

std::string as_text(std::string_view bytes) {
  std::string text(bytes);
  if (session::is_utf8(bytes)) return text;
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

}  // namespace vitrine::service
