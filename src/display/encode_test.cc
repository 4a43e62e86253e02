// SPDX-License-Identifier: Apache-2.0
// What we write, others read: libpng, libjpeg-turbo and libwebp give the pixels back.
#include "display/encode.h"

#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>
#include <webp/decode.h>

#include <cstdlib>
#include <cstring>
#include <random>

namespace vitrine::display {

namespace {

Frame noise(std::uint32_t width, std::uint32_t height) {
  Frame frame{width, height, {}};
  frame.pixels.resize(std::size_t{width} * height * 4);
  std::mt19937 random(7);
  for (std::uint8_t& byte : frame.pixels) byte = static_cast<std::uint8_t>(random());
  return frame;
}

Frame gradient(std::uint32_t width, std::uint32_t height) {
  Frame frame{width, height, {}};
  frame.pixels.resize(std::size_t{width} * height * 4);
  for (std::uint32_t y = 0; y < height; ++y)
    for (std::uint32_t x = 0; x < width; ++x) {
      std::uint8_t* pixel = frame.row(y) + std::size_t{x} * 4;
      pixel[0] = static_cast<std::uint8_t>(x);
      pixel[1] = static_cast<std::uint8_t>(y);
      pixel[2] = static_cast<std::uint8_t>(x + y);
    }
  return frame;
}

void expect_png(const Frame& frame) {
  Result<std::string> file = encode(frame, Format::png);
  ASSERT_TRUE(file);

  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_memory(&image, file->data(), file->size()), 0);
  EXPECT_EQ(image.format, PNG_FORMAT_RGB);
  image.format = PNG_FORMAT_BGR;
  std::vector<std::uint8_t> back(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, back.data(), 0, nullptr), 0) << image.message;

  ASSERT_EQ(image.width, frame.width);
  ASSERT_EQ(image.height, frame.height);
  for (std::size_t i = 0; i < std::size_t{frame.width} * frame.height; ++i)
    ASSERT_EQ(std::memcmp(&back[i * 3], &frame.pixels[i * 4], 3), 0) << "pixel " << i;
}

TEST(Png, ComesBackPixelByPixel) {
  expect_png(plain({1024, 768}));
  expect_png(gradient(640, 480));
  expect_png(noise(1024, 768));
  expect_png(noise(64, 64));
  expect_png(noise(1, 1));
  expect_png(noise(3, 700));
  expect_png(gradient(4096, 20));
}

TEST(Png, IsRefusedWithoutPixels) {
  EXPECT_FALSE(encode(Frame{}, Format::png));
  EXPECT_FALSE(encode(Frame{10, 10, {1, 2, 3}}, Format::png));
}

TEST(Jpeg, ComesBackNearly) {
  const Frame frame = plain({200, 100}, 0x40A0F0);
  Result<std::string> file = encode(frame, Format::jpeg);
  ASSERT_TRUE(file);

  tjhandle decoder = tjInitDecompress();
  std::vector<std::uint8_t> back(200 * 100 * 3);
  const auto* bytes = reinterpret_cast<const unsigned char*>(file->data());
  ASSERT_EQ(tjDecompress2(decoder, bytes, file->size(), back.data(), 200, 0, 100, TJPF_RGB, 0), 0);
  tjDestroy(decoder);

  EXPECT_LT(std::abs(back[0] - 0x40), 6);
  EXPECT_LT(std::abs(back[1] - 0xA0), 6);
  EXPECT_LT(std::abs(back[2] - 0xF0), 6);
}

TEST(Webp, ComesBackNearly) {
  const Frame frame = plain({200, 100}, 0x40A0F0);
  Result<std::string> file = encode(frame, Format::webp);
  ASSERT_TRUE(file);

  int width = 0;
  int height = 0;
  std::uint8_t* back = WebPDecodeRGB(reinterpret_cast<const std::uint8_t*>(file->data()),
                                     file->size(), &width, &height);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(width, 200);
  EXPECT_EQ(height, 100);
  EXPECT_LT(std::abs(back[0] - 0x40), 6);
  EXPECT_LT(std::abs(back[1] - 0xA0), 6);
  EXPECT_LT(std::abs(back[2] - 0xF0), 6);
  WebPFree(back);
}

}  // namespace

}  // namespace vitrine::display
