// SPDX-License-Identifier: Apache-2.0
#include "keeper/log.h"

#include <unistd.h>

#include <array>
#include <ctime>
#include <string>

namespace vitrine::keeper {

namespace {

void line(std::string_view level, std::string_view text) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  std::array<char, 40> stamp{};
  std::strftime(stamp.data(), stamp.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  std::string out = std::string(stamp.data()) + " " + std::string(level) + " keeper: ";
  for (char c : text.substr(0, 2000)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) out += c;
    else
      out += "\\x" + std::string(1, "0123456789abcdef"[byte >> 4]) +
             std::string(1, "0123456789abcdef"[byte & 15]);
  }
  out += '\n';
  (void)!::write(STDERR_FILENO, out.data(), out.size());
}

}  // namespace

void log_info(std::string_view text) { line("info", text); }
void log_warning(std::string_view text) { line("warning", text); }
void log_error(std::string_view text) { line("error", text); }

}  // namespace vitrine::keeper
