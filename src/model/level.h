// SPDX-License-Identifier: Apache-2.0
// What holds sessions in. A server never goes below the level it was told (--isolation-floor).
#pragma once

#include <cstdint>
#include <string_view>

namespace vitrine {

enum class Level : std::uint8_t {
  full = 0,       // namespaces, mounts, Landlock, seccomp, limits
  container = 1,  // where namespaces are forbidden: user ids, chroot, Landlock, seccomp, limits
};

constexpr std::string_view to_string(Level level) {
  return level == Level::full ? "full" : "container";
}

}  // namespace vitrine
