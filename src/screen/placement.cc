// SPDX-License-Identifier: Apache-2.0
#include "screen/placement.h"

#include <algorithm>

namespace vitrine::screen {

namespace {

constexpr int kStep = 28;       // a title bar, had we any
constexpr int kMaxCascade = 8;  // then from the middle again
constexpr int kMaxSize = 16'384;

bool overlap(const Rect& a, const Rect& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

int keep_inside(int at, int size, int room) { return std::max(0, std::min(at, room - size)); }

}  // namespace

Rect clamp(const Rect& rect) {
  return {std::clamp(rect.x, -kMaxSize, kMaxSize), std::clamp(rect.y, -kMaxSize, kMaxSize),
          std::clamp(rect.width, 1, kMaxSize), std::clamp(rect.height, 1, kMaxSize)};
}

Rect place(const PlacementHint& hint, const Rect& screen, const std::vector<Rect>& others) {
  const Rect wanted = clamp(hint.rect);
  if (hint.positioned && overlap(wanted, screen)) return wanted;
  const Rect around = hint.parent && overlap(*hint.parent, screen) ? *hint.parent : screen;
  Rect placed = wanted;
  for (int i = 0; i < kMaxCascade; ++i) {
    placed.x = around.x + (around.width - wanted.width) / 2 + i * kStep;
    placed.y = around.y + (around.height - wanted.height) / 2 + i * kStep;
    placed.x = keep_inside(placed.x, wanted.width, screen.width);
    placed.y = keep_inside(placed.y, wanted.height, screen.height);
    const auto same_corner = [&](const Rect& r) { return r.x == placed.x && r.y == placed.y; };
    if (hint.parent || std::ranges::none_of(others, same_corner)) break;
  }
  return placed;
}

}  // namespace vitrine::screen
