// SPDX-License-Identifier: Apache-2.0
// The helper's loop: events of the X server, requests of the front, and timed work.
//
// Owns the front's socket. Windows are managed while no front is connected, too.
#pragma once

#include <deque>

#include "base/fd.h"
#include "screen/capture.h"
#include "screen/player.h"
#include "screen/window_manager.h"
#include "wire/screen.h"

namespace vitrine::screen {

class Server {
 public:
  enum class Life { first, again };  // again: the previous helper was killed
  Server(X x, Fd front, Life life);

  // Returns when the X server is gone.
  Status run();

 private:
  struct Waiting {
    std::uint32_t number = 0;
    wire::screen::Input input;
  };
  struct Answer {
    std::string bytes;
    Fd fd;
  };

  bool take_events();
  void take_request();
  void begin_input();
  void answer(std::uint32_t number, const wire::screen::Reply& reply, Fd fd = Fd());
  void send_answers();
  void advance(Clock::time_point now);
  int timeout(Clock::time_point now) const;

  X x_;
  Fd front_;
  Life life_;
  WindowManager window_manager_;
  Player player_;
  Capture capture_;
  Keymap keymap_;
  std::uint32_t playing_ = 0;  // the request whose script runs
  std::deque<Waiting> inputs_;
  std::deque<Answer> answers_;
};

}  // namespace vitrine::screen
