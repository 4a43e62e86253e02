// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <cstdint>

namespace vitrine {

namespace {

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

std::string from_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    const int value = value_of(c);
    if (value < 0) break;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (++count % 4 != 1) out += static_cast<char>(bits >> (6 - 2 * ((count - 1) % 4)));
    count %= 4;
  }
  return out;
}

std::string to_base64(std::string_view bytes) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  const std::size_t whole = bytes.size() / 3 * 3;
  out.resize(whole / 3 * 4);
  char* to = out.data();
  for (std::size_t i = 0; i < whole; i += 3) {  // pictures are long
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data() + i);
    *to++ = kAlphabet[at[0] >> 2];
    *to++ = kAlphabet[(at[0] & 3) << 4 | at[1] >> 4];
    *to++ = kAlphabet[(at[1] & 15) << 2 | at[2] >> 6];
    *to++ = kAlphabet[at[2] & 63];
  }
  for (std::size_t i = whole; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) -> std::uint32_t {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
    };
    const std::uint32_t group = at(0) << 16 | at(1) << 8 | at(2);
    out += kAlphabet[group >> 18];
    out += kAlphabet[group >> 12 & 63];
    out += i + 1 < bytes.size() ? kAlphabet[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kAlphabet[group & 63] : '=';
  }
  return out;
}

}  // namespace vitrine
