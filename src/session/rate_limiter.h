// SPDX-License-Identifier: Apache-2.0
// How a worker that never stops talking is listened to: freely at first, then with a breath between
// two looks, so that it waits in its own time and what it says comes in large pieces. One session that
// floods must not take the front from the others.
#pragma once

#include <chrono>
#include <cstdint>

namespace vitrine::session {

class RateLimiter {
 public:
  static constexpr std::chrono::milliseconds kPause{1};

  // `freely`: so many looks of one execution need no breath.
  explicit RateLimiter(int freely) : freely_(freely) {}

  // Counts a look. True if a breath is due before the next.
  bool over_limit(std::uint64_t execution) {
    if (execution != execution_) looks_ = 0;
    execution_ = execution;
    if (looks_ < freely_) ++looks_;
    return looks_ == freely_;
  }

 private:
  int freely_;
  std::uint64_t execution_ = 0;
  int looks_ = 0;
};

}  // namespace vitrine::session
