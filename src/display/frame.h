// SPDX-License-Identifier: Apache-2.0
// Pixels of a screen or a part of it, in memory that is ours.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/geometry.h"

namespace vitrine::display {

// A pixel is four bytes: blue, green, red, and one without meaning. Rows follow each other.
struct Frame {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> pixels;  // width * height * 4

  const std::uint8_t* row(std::uint32_t y) const {
    return pixels.data() + std::size_t{y} * width * 4;
  }
  std::uint8_t* row(std::uint32_t y) { return pixels.data() + std::size_t{y} * width * 4; }
};

// A rectangle of the screen; it may reach beyond.
struct Region {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
};

// All of one colour (0xRRGGBB).
Frame plain(const Geometry& geometry, std::uint32_t colour = kRootColour);
bool is_plain(const Frame& frame, std::uint32_t colour);

// The part of `region` inside a frame of this size; nullopt if there is none.
std::optional<Region> clipped(const Region& region, std::uint32_t width, std::uint32_t height);
// `region` must come from clipped().
Frame crop(const Frame& frame, const Region& region);

// Each new pixel is the mean of the pixels it replaces. The result has at least one pixel.
Frame scale(const Frame& frame, double factor);

// Draws an arrow with its tip at x, y, clipped to the frame.
void draw_cursor(Frame& frame, std::int64_t x, std::int64_t y);

}  // namespace vitrine::display
