// SPDX-License-Identifier: Apache-2.0
#include "display/frame.h"

#include <gtest/gtest.h>

namespace vitrine::display {

namespace {

std::uint32_t colour_at(const Frame& frame, std::uint32_t x, std::uint32_t y) {
  const std::uint8_t* pixel = frame.row(y) + std::size_t{x} * 4;
  return static_cast<std::uint32_t>(pixel[2] << 16 | pixel[1] << 8 | pixel[0]);
}

void set(Frame& frame, std::uint32_t x, std::uint32_t y, std::uint32_t colour) {
  std::uint8_t* pixel = frame.row(y) + std::size_t{x} * 4;
  for (unsigned part = 0; part < 3; ++part)
    pixel[part] = static_cast<std::uint8_t>(colour >> (8 * part));
}

TEST(Frame, IsPlainUntilAPixelDiffers) {
  Frame frame = plain({70, 64});
  EXPECT_TRUE(is_plain(frame, kRootColour));

  frame.row(63)[69 * 4 + 3] = 0xFF;  // the byte without meaning
  EXPECT_TRUE(is_plain(frame, kRootColour));
  set(frame, 69, 63, 0x20242c);
  EXPECT_FALSE(is_plain(frame, kRootColour));
}

TEST(Frame, IsCroppedToWhatIsInThePicture) {
  Frame frame = plain({100, 80});
  set(frame, 99, 79, 0xABCDEF);

  const auto part = clipped({90, 70, 500, 500}, frame.width, frame.height);
  ASSERT_TRUE(part);
  const Frame corner = crop(frame, *part);

  EXPECT_EQ(corner.width, 10u);
  EXPECT_EQ(corner.height, 10u);
  EXPECT_EQ(colour_at(corner, 9, 9), 0xABCDEFu);
  EXPECT_FALSE(clipped({100, 0, 5, 5}, frame.width, frame.height));
  EXPECT_FALSE(clipped({-5, -5, 5, 5}, frame.width, frame.height));
  EXPECT_TRUE(clipped({-5, -5, 6, 6}, frame.width, frame.height));
}

TEST(Frame, IsScaledByTheMeanOfItsPixels) {
  Frame frame = plain({64, 64}, 0);
  set(frame, 0, 0, 0x040404);
  set(frame, 1, 1, 0x080808);

  const Frame half = scale(frame, 0.5);

  EXPECT_EQ(half.width, 32u);
  EXPECT_EQ(colour_at(half, 0, 0), 0x030303u);
  EXPECT_EQ(colour_at(half, 1, 1), 0u);
  EXPECT_EQ(scale(frame, 0.001).width, 1u);
}

TEST(Frame, HasACursorOnlyWhereItIsInside) {
  Frame frame = plain({64, 64}, 0x808080);

  draw_cursor(frame, 60, 60);
  draw_cursor(frame, -5, -5);
  draw_cursor(frame, 1 << 20, 1 << 20);

  EXPECT_EQ(colour_at(frame, 60, 60), 0u);
  EXPECT_EQ(colour_at(frame, 59, 60), 0x808080u);
}

}  // namespace

}  // namespace vitrine::display
