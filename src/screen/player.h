// SPDX-License-Identifier: Apache-2.0
// Plays one script to the X server, a bit in every turn of the loop, so that windows are managed
// meanwhile.
#pragma once

#include <deque>
#include <optional>

#include "screen/script.h"
#include "screen/window_manager.h"

namespace vitrine::screen {

class Player {
 public:
  Player(const X& x, WindowManager& window_manager) : x_(x), window_manager_(window_manager) {}

  bool busy() const { return busy_; }
  void start(const std::vector<Step>& steps) {
    steps_.assign(steps.begin(), steps.end());
    busy_ = true;
  }
  // Plays until a rest or a few dozen steps. True when that was the end, and the server has it all.
  bool play(Clock::time_point now);
  std::optional<Clock::time_point> wakes() const;

 private:
  bool paused(Clock::time_point now) const;
  void remap(const Remap& first);
  void apply(const Step& step, Clock::time_point now);

  const X& x_;
  WindowManager& window_manager_;
  std::deque<Step> steps_;
  std::optional<std::uint32_t> pinged_;  // a program is waited for
  int keys_since_wait_ = 0;              // keys since a program was waited for
  bool busy_ = false;                    // also during a rest at the end
  Clock::time_point resumes_{};
};

// The keyboard as it is now, into `keymap`; and the state of the screen a script begins with.
void read_keymap(const X& x, Keymap& keymap);
Screen read_screen(const X& x, const WindowManager& window_manager);

}  // namespace vitrine::screen
