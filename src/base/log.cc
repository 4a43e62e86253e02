// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <unistd.h>

#include <array>
#include <ctime>
#include <string>

namespace vitrine {

namespace {

constexpr std::size_t kMaxText = 2000;

std::string_view name_of(Level level) {
  switch (level) {
    case Level::info: return "info";
    case Level::warning: return "warning";
    case Level::error: return "error";
  }
  return "error";
}

}  // namespace

void log(Level level, std::string_view program, std::string_view text) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  std::array<char, 40> stamp{};
  std::strftime(stamp.data(), stamp.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  std::string out = std::string(stamp.data()) + " " + std::string(name_of(level)) + " " +
                    std::string(program) + ": ";
  for (char c : text.substr(0, kMaxText)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) out += c;
    else
      out += "\\x" + std::string(1, "0123456789abcdef"[byte >> 4]) +
             std::string(1, "0123456789abcdef"[byte & 15]);
  }
  out += '\n';
  (void)!::write(STDERR_FILENO, out.data(), out.size());
}

}  // namespace vitrine
