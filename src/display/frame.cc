// SPDX-License-Identifier: Apache-2.0
#include "display/frame.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

namespace vitrine::display {

namespace {

constexpr std::uint32_t kColourBits = 0x00FFFFFF;

// x: black, o: white, space: nothing.
constexpr std::array<std::string_view, 16> kArrow{
    "x           ", "xx          ", "xox         ", "xoox        ", "xooox       ", "xoooox      ",
    "xooooox     ", "xoooooox    ", "xooooooox   ", "xoooooooox  ", "xoooooxxxxx ", "xooxoox     ",
    "xox xoox    ", "xx  xoox    ", "     xoox   ", "      xx    ",
};

}  // namespace

Frame plain(const Geometry& geometry, std::uint32_t colour) {
  Frame frame{geometry.width, geometry.height, {}};
  frame.pixels.resize(geometry.bytes());
  const std::array<std::uint8_t, 4> pixel{static_cast<std::uint8_t>(colour),
                                          static_cast<std::uint8_t>(colour >> 8),
                                          static_cast<std::uint8_t>(colour >> 16), 0};
  for (std::size_t at = 0; at < frame.pixels.size(); at += pixel.size())
    std::copy(pixel.begin(), pixel.end(), frame.pixels.begin() + static_cast<std::ptrdiff_t>(at));
  return frame;
}

bool is_plain(const Frame& frame, std::uint32_t colour) {
  for (std::uint32_t y = 0; y < frame.height; ++y) {
    const std::uint8_t* row = frame.row(y);
    std::uint32_t different = 0;
    for (std::uint32_t x = 0; x < frame.width; ++x) {
      std::uint32_t pixel = 0;
      std::memcpy(&pixel, row + std::size_t{x} * 4, sizeof pixel);  // little-endian: BGRX
      different |= (pixel ^ colour) & kColourBits;
    }
    if (different != 0) return false;
  }
  return true;
}

std::optional<Region> clipped(const Region& region, std::uint32_t width, std::uint32_t height) {
  const std::int64_t left = std::max<std::int64_t>(region.x, 0);
  const std::int64_t top = std::max<std::int64_t>(region.y, 0);
  const std::int64_t right = std::min<std::int64_t>(region.x + region.width, width);
  const std::int64_t bottom = std::min<std::int64_t>(region.y + region.height, height);
  if (left >= right || top >= bottom) return std::nullopt;
  return Region{left, top, right - left, bottom - top};
}

Frame crop(const Frame& frame, const Region& region) {
  Frame part{
      static_cast<std::uint32_t>(region.width), static_cast<std::uint32_t>(region.height), {}};
  part.pixels.resize(std::size_t{part.width} * part.height * 4);
  for (std::uint32_t y = 0; y < part.height; ++y)
    std::memcpy(part.row(y),
                frame.row(static_cast<std::uint32_t>(region.y) + y) +
                    static_cast<std::size_t>(region.x) * 4,
                std::size_t{part.width} * 4);
  return part;
}

Frame scale(const Frame& frame, double factor) {
  const auto side = [factor](std::uint32_t length) {
    return std::max<std::uint32_t>(
        1, static_cast<std::uint32_t>(std::lround(static_cast<double>(length) * factor)));
  };
  Frame out{side(frame.width), side(frame.height), {}};
  out.pixels.resize(std::size_t{out.width} * out.height * 4);
  for (std::uint32_t y = 0; y < out.height; ++y) {
    const std::uint64_t top = std::uint64_t{y} * frame.height / out.height;
    const std::uint64_t bottom =
        std::max<std::uint64_t>(top + 1, std::uint64_t{y + 1} * frame.height / out.height);
    for (std::uint32_t x = 0; x < out.width; ++x) {
      const std::uint64_t left = std::uint64_t{x} * frame.width / out.width;
      const std::uint64_t right =
          std::max<std::uint64_t>(left + 1, std::uint64_t{x + 1} * frame.width / out.width);
      std::array<std::uint64_t, 3> sum{};
      for (std::uint64_t from_y = top; from_y < bottom; ++from_y) {
        const std::uint8_t* row = frame.row(static_cast<std::uint32_t>(from_y));
        for (std::uint64_t from_x = left; from_x < right; ++from_x)
          for (std::size_t part = 0; part < 3; ++part) sum[part] += row[from_x * 4 + part];
      }
      const std::uint64_t count = (bottom - top) * (right - left);
      for (std::size_t part = 0; part < 3; ++part)
        out.row(y)[std::size_t{x} * 4 + part] =
            static_cast<std::uint8_t>((sum[part] + count / 2) / count);
    }
  }
  return out;
}

void draw_cursor(Frame& frame, std::int64_t x, std::int64_t y) {
  for (std::size_t dy = 0; dy < kArrow.size(); ++dy)
    for (std::size_t dx = 0; dx < kArrow[dy].size(); ++dx) {
      const std::int64_t to_x = x + static_cast<std::int64_t>(dx);
      const std::int64_t to_y = y + static_cast<std::int64_t>(dy);
      if (kArrow[dy][dx] == ' ' || to_x < 0 || to_y < 0 || to_x >= frame.width ||
          to_y >= frame.height)
        continue;
      std::uint8_t* pixel = frame.row(static_cast<std::uint32_t>(to_y)) + to_x * 4;
      std::memset(pixel, kArrow[dy][dx] == 'x' ? 0 : 255, 3);
    }
}

}  // namespace vitrine::display
