// SPDX-License-Identifier: Apache-2.0
// Input events as a list of steps for the X server. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "screen/keymap.h"
#include "wire/screen.h"

namespace vitrine::screen {

struct MoveTo {
  int x = 0;
  int y = 0;
};
struct ButtonEvent {
  std::uint8_t button = 0;
  bool down = false;
};
struct KeyEvent {
  Keycode keycode = 0;
  bool down = false;
};
struct Remap {  // map the key to this keysym
  Keycode keycode = 0;
  Keysym keysym = 0;
};
struct Pause {
  std::uint32_t milliseconds = 0;
};
// Waits until the active window's program has read all events sent so far. A program looks up the
// mapping of a key when it reads the event, not when the key was pressed.
struct WaitForProgram {};
struct AskToClose {
  std::uint32_t window = 0;
};

using Step = std::variant<MoveTo, ButtonEvent, KeyEvent, Remap, Pause, WaitForProgram, AskToClose>;

struct Screen {
  int width = 0;
  int height = 0;
  bool caps_lock = false;  // current state
};

struct Refusal {
  std::uint16_t event = 0;
  std::string text;
};

// All steps, or the first event that cannot be performed. Characters without a key get spare keys of
// `keymap`.
std::variant<std::vector<Step>, Refusal> make_script(
    const std::vector<wire::screen::InputEvent>& events, const Screen& screen, Keymap& keymap);

}  // namespace vitrine::screen
