// SPDX-License-Identifier: Apache-2.0
// Where a new window goes. Pure.
#pragma once

#include <optional>
#include <vector>

namespace vitrine::screen {

struct Rect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  bool operator==(const Rect&) const = default;
};

struct PlacementHint {
  Rect rect;                   // as the program left it
  bool positioned = false;     // it says that it chose the place
  std::optional<Rect> parent;  // of a dialog
};

// In the middle of the screen, or of the parent; a little further down and right for each window that
// is there already; a window that chose its place keeps it, if it can be seen there. Where it fits it
// is on the screen whole, otherwise its top left corner is.
Rect place(const PlacementHint& hint, const Rect& screen, const std::vector<Rect>& others);

// What a program may ask for: sizes from 1 to 16,384, places within X11's range.
Rect clamp(const Rect& rect);

}  // namespace vitrine::screen
