// SPDX-License-Identifier: Apache-2.0
#include "encoder/palette.h"

#include <gtest/gtest.h>

#include <random>

namespace vitrine::encoder {
namespace {

std::uint32_t colour_of(const Paletted& paletted, std::size_t pixel) {
  return paletted.colours[paletted.pixels[pixel]];
}

TEST(Palette, IsExactForFewColours) {
  const std::vector<std::uint8_t> pixels{0x2b, 0x24, 0x20, 0, 255, 255, 255, 0, 0, 0, 255, 9};

  const Paletted paletted = make_palette(pixels);

  ASSERT_EQ(paletted.pixels.size(), 3u);
  EXPECT_EQ(colour_of(paletted, 0), 0xFF20242Bu);
  EXPECT_EQ(colour_of(paletted, 1), 0xFFFFFFFFu);
  EXPECT_EQ(colour_of(paletted, 2), 0xFFFF0000u);
}

TEST(Palette, StaysNearWhenThereAreTooMany) {
  std::mt19937 random(1);
  std::vector<std::uint8_t> pixels(40'000);
  for (std::uint8_t& byte : pixels) byte = static_cast<std::uint8_t>(random());

  const Paletted paletted = make_palette(pixels);

  double off = 0;
  for (std::size_t i = 0; i < paletted.pixels.size(); ++i)
    off += std::abs(static_cast<int>(colour_of(paletted, i) >> 8 & 0xFF) - pixels[i * 4 + 1]);
  EXPECT_LT(off / static_cast<double>(paletted.pixels.size()), 40);
}

TEST(Palette, TakesNothing) { EXPECT_TRUE(make_palette({}).pixels.empty()); }

}  // namespace
}  // namespace vitrine::encoder
