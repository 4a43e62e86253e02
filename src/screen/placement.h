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
  Rect rect;                   // as the program set it
  bool positioned = false;     // the program chose the position
  std::optional<Rect> parent;  // main window of a dialog
};

// Centers the window on the screen or on its parent, and moves it down and right by a step for each
// window in the same place. A window that chose a visible position keeps it. A window that fits is
// placed entirely on the screen; of a larger one the top left corner is.
Rect place(const PlacementHint& hint, const Rect& screen, const std::vector<Rect>& others);

// Limits a requested rectangle: sizes from 1 to 16,384, positions within X11's range.
Rect clamp(const Rect& rect);

}  // namespace vitrine::screen
