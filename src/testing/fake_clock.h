// SPDX-License-Identifier: Apache-2.0
// The front's clock (backend/clock.h), stopped: time passes when the test says so, and timers that are
// due by then fire at the next turn of the io_context.
//
// Ownership: each moves the same clock, for its own io_context; when the last is gone, the clock runs.
// Threading: the test's; other threads may read the clock meanwhile.
#pragma once

#include <boost/asio/io_context.hpp>

#include "backend/clock.h"

namespace vitrine::testing {

class FakeClock {
 public:
  explicit FakeClock(boost::asio::io_context& context) : kick_(context) {
    if (++alive_ == 1) set(kBegin);
  }
  ~FakeClock() {
    if (--alive_ == 0) Clock::stopped_at = 0;
  }
  FakeClock(const FakeClock&) = delete;
  FakeClock& operator=(const FakeClock&) = delete;

  void advance(Clock::duration time) {
    set(Clock::now().time_since_epoch() + time);
    // Asio sleeps by the machine's clock: a timer that is due makes it look at the others.
    kick_.expires_at(Clock::time_point::min());
    kick_.async_wait([](boost::system::error_code) {});
  }

 private:
  static constexpr std::chrono::hours kBegin{1000};
  static void set(Clock::duration since_epoch) { Clock::stopped_at = since_epoch.count(); }

  static inline int alive_ = 0;

  Timer kick_;
};

}  // namespace vitrine::testing
