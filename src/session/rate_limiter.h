// SPDX-License-Identifier: Apache-2.0
// Limits how often the front reads from a worker that floods it. The first reads of an execution are
// free; after them each read is followed by a pause, in which the worker blocks and its output collects
// into larger pieces. One session that floods must not take the front from the others.
#pragma once

#include <chrono>
#include <cstdint>

namespace vitrine::session {

class RateLimiter {
 public:
  static constexpr std::chrono::milliseconds kPause{1};

  // `free_reads`: of each execution.
  explicit RateLimiter(int free_reads) : free_reads_(free_reads) {}

  // Counts a read. True if a pause of kPause is due before the next.
  bool over_limit(std::uint64_t execution) {
    if (execution != execution_) reads_ = 0;
    execution_ = execution;
    if (reads_ < free_reads_) ++reads_;
    return reads_ == free_reads_;
  }

 private:
  int free_reads_;
  std::uint64_t execution_ = 0;
  int reads_ = 0;
};

}  // namespace vitrine::session
