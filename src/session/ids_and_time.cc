// SPDX-License-Identifier: Apache-2.0
#include "session/ids_and_time.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

namespace vitrine::session {

namespace {

// The kernel's randomness, asked for in portions: ids are made for every request. No byte is used twice.
std::array<unsigned char, 16> random_bytes() {
  static std::array<unsigned char, 256> portion;  // as much as one call gives without interruption
  static std::size_t used = portion.size();
  if (used == portion.size()) {
    while (::getrandom(portion.data(), portion.size(), 0) != static_cast<ssize_t>(portion.size())) {
    }
    used = 0;
  }
  std::array<unsigned char, 16> bytes;
  std::copy_n(portion.begin() + static_cast<std::ptrdiff_t>(used), bytes.size(), bytes.begin());
  std::fill_n(portion.begin() + static_cast<std::ptrdiff_t>(used), bytes.size(), 0);
  used += bytes.size();
  return bytes;
}

}  // namespace

std::string new_id() {
  const std::array<unsigned char, 16> random = random_bytes();
  std::string id;
  for (unsigned char byte : random) {
    id += "0123456789abcdef"[byte >> 4];
    id += "0123456789abcdef"[byte & 15];
  }
  return id;
}

std::uint64_t new_token() {
  std::uint64_t token = 0;
  while (token == 0) (void)!::getrandom(&token, sizeof token, 0);
  return token;
}

std::string now_rfc3339() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  std::array<char, 40> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> millis{};
  std::snprintf(millis.data(), millis.size(), ".%03ldZ", now.tv_nsec / 1'000'000 % 1000);
  return std::string(text.data(), size) + millis.data();
}

}  // namespace vitrine::session
