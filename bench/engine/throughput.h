// SPDX-License-Identifier: Apache-2.0
// How many per second, eight at a time: create, run, destroy; and fork, run, reap.
#pragma once

#include <chrono>
#include <cstdint>

#include "engine/latency.h"

namespace vitrine::bench {

struct Rate {
  double per_second = 0;
  std::uint64_t count = 0;
  std::vector<double> each = {};  // milliseconds, create to destroyed
};

inline constexpr std::uint32_t kConcurrent = 8;

Result<Rate> rate_of_raw_forks(RawFork& server, const Cell& cell, std::chrono::milliseconds time);
// At least for this long, and at least so many.
Result<Rate> rate_of_one_shots(KeeperProcess& keeper, const wire::Create& request, const Cell& cell,
                               std::chrono::milliseconds time, std::uint64_t least = 0);

}  // namespace vitrine::bench
