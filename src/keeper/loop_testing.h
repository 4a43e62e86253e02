// SPDX-License-Identifier: Apache-2.0
// For tests: a loop whose time stands still until the test moves it.
#pragma once

#include <algorithm>
#include <memory>

#include "keeper/loop.h"

namespace vitrine::keeper {

class ManualLoop {
 public:
  ManualLoop()
      : time_(std::make_shared<Clock::time_point>(std::chrono::hours(1))),
        loop_(*Loop::make([time = time_] { return *time; })) {}

  Loop& loop() { return loop_; }
  Clock::time_point now() const { return *time_; }

  // Runs every timer at its own moment, and what is ready in between.
  void advance(std::chrono::milliseconds by) {
    const Clock::time_point end = *time_ + by;
    loop_.poll();
    while (loop_.next_timer() <= end) {
      *time_ = std::max(*time_, loop_.next_timer());
      loop_.poll();
    }
    *time_ = end;
    loop_.poll();
  }
  // What is due now, with what that makes due.
  void settle() { advance({}); }

 private:
  std::shared_ptr<Clock::time_point> time_;
  Loop loop_;
};

}  // namespace vitrine::keeper
