// SPDX-License-Identifier: Apache-2.0
// Screenshots of single windows, including covered parts, by the Composite extension.
//
// Covered parts have no pixels until the window is redirected to a pixmap of its own and its program
// has repainted it. That takes a moment, during which the loop goes on.
#pragma once

#include <deque>
#include <optional>

#include "base/fd.h"
#include "screen/window_manager.h"
#include "wire/screen.h"

namespace vitrine::screen {

struct Picture {
  std::uint32_t number = 0;  // of the request
  wire::screen::Reply reply;
  Fd pixels;
};

class Capture {
 public:
  explicit Capture(const X& x);

  void ask(std::uint32_t number, xcb_window_t window) { waiting_.push_back({number, window}); }
  std::size_t waiting() const { return waiting_.size(); }
  // The next answer; nullopt while there is none.
  std::optional<Picture> advance(Clock::time_point now);
  std::optional<Clock::time_point> wakes() const;

 private:
  struct Wanted {
    std::uint32_t number = 0;
    xcb_window_t window = 0;
  };
  Picture take(const Wanted& wanted);

  const X& x_;
  bool present_ = false;
  std::deque<Wanted> waiting_;
  bool redirected_ = false;  // the first window of `waiting_`
  Clock::time_point ready_{};
};

}  // namespace vitrine::screen
