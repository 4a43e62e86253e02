// SPDX-License-Identifier: Apache-2.0
#include "session/meters.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

namespace vitrine::session {

// From a file of cgroup v2 ("usage_usec 123" in one of its lines) or v1 (nanoseconds).
std::optional<std::uint64_t> Meters::cpu_us() const {
  if (!cpu_) return std::nullopt;
  std::array<char, 512> text{};
  const ssize_t got = ::pread(cpu_.get(), text.data(), text.size() - 1, 0);
  if (got <= 0) return 0;
  const std::string_view all(text.data(), static_cast<std::size_t>(got));
  constexpr std::string_view kKey = "usage_usec ";
  const std::size_t at = all.find(kKey);
  std::uint64_t value = 0;
  const char* from = all.data() + (at == std::string_view::npos ? 0 : at + kKey.size());
  std::from_chars(from, all.data() + all.size(), value);
  return at == std::string_view::npos ? value / 1000 : value;
}

std::optional<std::uint64_t> Meters::peak_kb() const {
  if (!peak_) return std::nullopt;
  std::array<char, 32> text{};
  const ssize_t got = ::pread(peak_.get(), text.data(), text.size(), 0);
  std::uint64_t value = 0;
  if (got > 0) std::from_chars(text.data(), text.data() + got, value);
  return value / 1024;
}

}  // namespace vitrine::session
