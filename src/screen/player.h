// SPDX-License-Identifier: Apache-2.0
// Sends the steps of one script to the X server, a few in each turn of the loop, so that windows are
// managed in between.
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
  // Sends steps until a pause, a few dozen at most. True once all are sent and the server has them.
  bool play(Clock::time_point now);
  std::optional<Clock::time_point> wakes() const;

 private:
  bool paused(Clock::time_point now) const;
  void remap(const Remap& first);
  void apply(const Step& step, Clock::time_point now);

  const X& x_;
  WindowManager& window_manager_;
  std::deque<Step> steps_;
  std::optional<std::uint32_t> pinged_;  // the ping whose pong is awaited
  int keys_since_wait_ = 0;              // key presses since the last WaitForProgram
  bool busy_ = false;                    // also during a pause at the end
  Clock::time_point resumes_{};
};

// Reads the current mapping into `keymap`, and the state of the screen that a script starts from.
void read_keymap(const X& x, Keymap& keymap);
Screen read_screen(const X& x, const WindowManager& window_manager);

}  // namespace vitrine::screen
