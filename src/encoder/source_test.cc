// SPDX-License-Identifier: Apache-2.0
#include "encoder/source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "model/geometry.h"

namespace vitrine::encoder {
namespace {

// A 17x17 screen: rows of 80 bytes after a head of 100; each pixel is its column and row.
constexpr wire::encoder::Start kWhere{.width = 17, .height = 17, .offset = 100, .stride = 80};

Fd make_screen() {
  Fd file(::memfd_create("screen", MFD_CLOEXEC));
  std::vector<std::uint8_t> bytes(100 + 80 * 17, 0xEE);
  for (std::size_t y = 0; y < 17; ++y)
    for (std::size_t x = 0; x < 17; ++x) {
      bytes[100 + y * 80 + x * 4] = static_cast<std::uint8_t>(x);
      bytes[100 + y * 80 + x * 4 + 1] = static_cast<std::uint8_t>(y);
    }
  EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return file;
}

TEST(Source, ReadsRowsAndRepeatsTheLastForEvenSides) {
  const Fd file = make_screen();
  Source source(file.get(), kWhere);

  ASSERT_TRUE(source.read());

  const Frame& frame = source.frame();
  ASSERT_EQ(frame.width, 18);
  ASSERT_EQ(frame.height, 18);
  const auto at = [&](int x, int y) {
    const auto i = static_cast<std::size_t>(y * frame.stride() + x * 4);
    return std::pair<int, int>(frame.pixels[i], frame.pixels[i + 1]);
  };
  EXPECT_EQ(at(3, 5), (std::pair{3, 5}));
  EXPECT_EQ(at(16, 16), (std::pair{16, 16}));
  EXPECT_EQ(at(17, 4), (std::pair{16, 4}));
  EXPECT_EQ(at(17, 17), (std::pair{16, 16}));
}

TEST(Source, TellsFramesApartByTheirHash) {
  const Fd file = make_screen();
  Source source(file.get(), kWhere);
  ASSERT_TRUE(source.read());
  const std::uint64_t before = source.hash();

  ASSERT_TRUE(source.read());
  EXPECT_EQ(source.hash(), before);
  const std::uint8_t byte = 99;
  ASSERT_EQ(::pwrite(file.get(), &byte, 1, 100 + 80 * 16), 1);
  ASSERT_TRUE(source.read());
  EXPECT_NE(source.hash(), before);
}

TEST(Source, ShowsTheRootUntilSomethingIsPainted) {
  const Fd file(::memfd_create("screen", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 100 + 80 * 17), 0);
  Source source(file.get(), kWhere);
  const auto first = [&] {
    std::uint32_t pixel = 0;
    std::memcpy(&pixel, source.frame().pixels.data(), 4);
    return pixel;
  };

  ASSERT_TRUE(source.read());
  EXPECT_EQ(first(), kRootColour);

  const std::uint8_t byte = 99;
  ASSERT_EQ(::pwrite(file.get(), &byte, 1, 100), 1);
  ASSERT_TRUE(source.read());
  EXPECT_EQ(first(), 99u);
  const std::uint8_t black = 0;
  ASSERT_EQ(::pwrite(file.get(), &black, 1, 100), 1);
  ASSERT_TRUE(source.read());
  EXPECT_EQ(first(), 0u) << "what a program paints black is black";
}

TEST(Source, SaysThatAShortFileIsGone) {
  const Fd file = make_screen();
  Source source(file.get(), kWhere);
  ASSERT_TRUE(source.read());

  ASSERT_EQ(::ftruncate(file.get(), 900), 0);

  const Status gone = source.read();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Code::unavailable);
}

}  // namespace
}  // namespace vitrine::encoder
