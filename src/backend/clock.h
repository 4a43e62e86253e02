// SPDX-License-Identifier: Apache-2.0
// The clock and the timer of the front: the machine's steady clock, unless a test has stopped it.
//
// Everything in the front that measures or waits goes by these two, so that a test which moves the clock
// moves all of it. Time points are those of std::chrono::steady_clock. What Boost.Beast times by itself
// (the limits of a connection) stays on the machine's clock.
// Threading: any. Cost: one relaxed load beside the machine's clock.
#pragma once

#include <atomic>
#include <boost/asio/basic_waitable_timer.hpp>
#include <chrono>

namespace vitrine {

struct Clock {
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
    const rep stopped = stopped_at.load(std::memory_order_relaxed);
    return stopped == 0 ? std::chrono::steady_clock::now() : time_point(duration(stopped));
  }

  // 0 = it runs. For testing/fake_clock.h alone, which tests/layers_test.py checks.
  static inline std::atomic<rep> stopped_at = 0;
};

using Timer = boost::asio::basic_waitable_timer<Clock>;

}  // namespace vitrine
