// SPDX-License-Identifier: Apache-2.0
// The keeper's one thread: descriptors that became ready, and timers, in turn.
//
// Handlers run to completion and may add or remove anything, themselves included. Time is
// CLOCK_MONOTONIC: a clock that jumps moves no deadline. A test gives a clock of its own and moves it
// (keeper/loop_testing.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>

#include "base/fd.h"

namespace vitrine::keeper {

using Clock = std::chrono::steady_clock;
using TimerId = std::uint64_t;

class Loop {
 public:
  using Now = std::function<Clock::time_point()>;
  static Result<Loop> make(Now now = Clock::now);

  Clock::time_point now() const { return now_(); }

  Status watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> handler);
  // Before the descriptor is closed.
  void unwatch(int fd);

  TimerId at(Clock::time_point when, std::function<void()> handler);
  TimerId after(std::chrono::milliseconds delay, std::function<void()> handler) {
    return at(now() + delay, std::move(handler));
  }
  void cancel(TimerId timer);  // 0 or an old one is ignored

  void run();
  // Handles what is ready and what is due, without waiting.
  void poll();
  // When the next timer is due; the end of time without one.
  Clock::time_point next_timer() const;
  void stop() { stopped_ = true; }

 private:
  Loop(Fd epoll, Now now) : epoll_(std::move(epoll)), now_(std::move(now)) {}
  int wait_time() const;
  void handle_ready(int milliseconds);
  void run_timers();

  struct Watched {
    std::uint32_t generation = 0;
    std::function<void(std::uint32_t)> handler;
  };
  Fd epoll_;
  Now now_;
  bool stopped_ = false;
  std::uint32_t generation_ = 0;
  TimerId last_timer_ = 0;
  std::unordered_map<int, Watched> watched_;
  std::map<std::pair<Clock::time_point, TimerId>, std::function<void()>> timers_;
  std::unordered_map<TimerId, Clock::time_point> timer_times_;
};

}  // namespace vitrine::keeper
