// SPDX-License-Identifier: Apache-2.0
// What every fuzzer needs: to read its input piece by piece, and to stop loudly.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace vitrine::fuzz {

// Ends the run with a report unless `holds`.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// The input, as commands that each take some of it. Gives zeros and nothing at its end.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    const std::string_view one = bytes(1);
    return one.empty() ? 0 : static_cast<std::uint8_t>(one[0]);
  }
  std::uint16_t word() { return static_cast<std::uint16_t>(byte() | byte() << 8); }
  std::string_view bytes(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view all() { return bytes(rest_.size()); }

 private:
  std::string_view rest_;
};

}  // namespace vitrine::fuzz
