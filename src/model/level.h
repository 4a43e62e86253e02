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

// Whether a session's limits hold against code that fights them.
enum class LimitsLevel : std::uint8_t {
  enforced = 0,     // by cgroups, over all processes of a session
  best_effort = 1,  // at least one of them per process, or not at all
};

constexpr std::string_view to_string(LimitsLevel level) {
  return level == LimitsLevel::enforced ? "enforced" : "best_effort";
}

constexpr std::string_view to_string(Level level) {
  return level == Level::full ? "full" : "container";
}

}  // namespace vitrine
