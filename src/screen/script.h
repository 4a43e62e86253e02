// SPDX-License-Identifier: Apache-2.0
// Input events, broken down into what the X server is told, step by step. Pure.
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
struct Remap {  // give the key this one meaning
  Keycode keycode = 0;
  Keysym keysym = 0;
};
struct Pause {
  std::uint32_t milliseconds = 0;
};
// Until the active window's program has read what was sent so far. A program asks what a key means
// when it reads the event, not when it happened.
struct WaitForProgram {};
struct AskToClose {
  std::uint32_t window = 0;
};

using Step = std::variant<MoveTo, ButtonEvent, KeyEvent, Remap, Pause, WaitForProgram, AskToClose>;

struct Screen {
  int width = 0;
  int height = 0;
  bool caps_lock = false;  // as it is now
};

struct Refusal {
  std::uint16_t event = 0;
  std::string text;
};

// All steps, or the first event that cannot be followed. Lends spare keys of `keymap` to characters
// that have none.
std::variant<std::vector<Step>, Refusal> make_script(
    const std::vector<wire::screen::InputEvent>& events, const Screen& screen, Keymap& keymap);

}  // namespace vitrine::screen
