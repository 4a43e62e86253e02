// SPDX-License-Identifier: Apache-2.0
#include "wire/utf8.h"

#include <cstdint>
#include <cstring>

namespace vitrine::wire {

bool is_utf8(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = p + text.size();
  while (p < end) {
    std::uint64_t eight = 0;  // most text is ASCII: eight bytes of it at a time
    if (end - p >= 8) std::memcpy(&eight, p, 8);
    if (end - p >= 8 && (eight & 0x8080'8080'8080'8080) == 0) {
      p += 8;
      continue;
    }
    if (*p < 0x80) {
      ++p;
      continue;
    }
    int extra = 0;
    std::uint32_t point = 0;
    std::uint32_t least = 0;
    if ((*p & 0xE0) == 0xC0) extra = 1, point = *p & 0x1F, least = 0x80;
    else if ((*p & 0xF0) == 0xE0) extra = 2, point = *p & 0x0F, least = 0x800;
    else if ((*p & 0xF8) == 0xF0) extra = 3, point = *p & 0x07, least = 0x10000;
    else return false;
    if (end - p <= extra) return false;
    for (int i = 1; i <= extra; ++i) {
      if ((p[i] & 0xC0) != 0x80) return false;
      point = (point << 6) | (p[i] & 0x3F);
    }
    if (point < least || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return false;
    p += extra + 1;
  }
  return true;
}

}  // namespace vitrine::wire
