// SPDX-License-Identifier: Apache-2.0
// The numbers that an operator can choose: default and range, in one place for the command line, the
// configuration file, the keeper, the front and their help texts.
#pragma once

#include <cstdint>
#include <string>

namespace vitrine::settings {

struct Number {
  std::uint32_t otherwise;  // what holds if nothing is chosen
  std::uint32_t least;
  std::uint32_t most;
};

// Workers that wait, by what they have imported.
inline constexpr Number kPool{4, 0, 1000};
inline constexpr Number kPoolBare{0, 0, 1000};
inline constexpr Number kPoolSeeded{0, 0, 1000};
inline constexpr Number kShells{16, 1, 1000};  // empty ones that wait
inline constexpr Number kRecycled{32, 0, 1000};
inline constexpr Number kUsesPerShell{1000, 1, 1'000'000};
inline constexpr Number kCapacity{2000, 1, 100'000};  // sessions
inline constexpr Number kChildrenPerZygote{400, 1, 100'000};
inline constexpr Number kUidBase{0x20000000, 65536, 0xF0000000};
inline constexpr Number kHistory{1000, 1, 1'000'000};      // executions per session
inline constexpr Number kRecordingsMb{2048, 1, 1u << 20};  // of recordings that ended
inline constexpr Number kLayerMb{1024, 1, 1u << 20};
inline constexpr Number kLayersMb{8192, 1, 1u << 30};
inline constexpr Number kInstallSeconds{300, 1, 86'400};
inline constexpr const char* kListen = "127.0.0.1:8000";

// " [4]", as help texts show a default.
inline std::string shown(const Number& number) {
  return " [" + std::to_string(number.otherwise) + "]";
}

}  // namespace vitrine::settings
