// SPDX-License-Identifier: Apache-2.0
// What one session may use. Zero is refused everywhere: it means nothing, not "no limit".
#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.h"

namespace vitrine {

struct Limits {
  std::uint64_t memory_bytes = 512ull << 20;       // the whole session, files not counted
  std::uint32_t cpu_permille = 1000;               // 1000 = one core
  std::uint32_t processes = 64;                    // processes and threads
  std::uint64_t disk_bytes = 256ull << 20;         // all files of the session, kept in memory
  std::uint64_t output_bytes = 1ull << 20;         // each of stdout, stderr, results
  std::chrono::milliseconds exec_time{30'000};     // one execution, first byte to final event
  std::chrono::milliseconds idle_time{1'800'000};  // no execution and no attached client

  // `invalid_argument` naming the first field out of range and the range.
  Status validate() const;

  bool operator==(const Limits&) const = default;
};

}  // namespace vitrine
