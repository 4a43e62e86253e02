// SPDX-License-Identifier: Apache-2.0
#include "display/framebuffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace vitrine::display {

namespace {

constexpr Geometry kSmall{64, 100};  // more rows than are read at once

// A file as Xvfb makes it, and a second descriptor to change it with.
struct File {
  File() : file(::memfd_create("framebuffer", MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(kPixelsOffset + kSmall.bytes())), 0);
  }
  void fill(std::uint32_t colour) {
    const Frame frame = plain(kSmall, colour);
    EXPECT_EQ(::pwrite(file.get(), frame.pixels.data(), frame.pixels.size(), kPixelsOffset),
              static_cast<ssize_t>(frame.pixels.size()));
  }
  void set(std::size_t pixel, std::uint32_t colour) {
    EXPECT_EQ(::pwrite(file.get(), &colour, 4, static_cast<off_t>(kPixelsOffset + pixel * 4)), 4);
  }
  Framebuffer open() {
    Result<Fd> copy = duplicate(file.get());
    return {std::move(*copy), kSmall};
  }
  Fd file;
};

TEST(Framebuffer, IsBlankBeforeAndAfterTheRootIsPainted) {
  File file;
  Framebuffer framebuffer = file.open();
  Frame frame;

  EXPECT_TRUE(framebuffer.read(frame)->blank) << "black, and no server has painted yet";
  file.fill(kRootColour);
  EXPECT_TRUE(framebuffer.read(frame)->blank);
  file.fill(0);
  EXPECT_FALSE(framebuffer.read(frame)->blank) << "a black window over everything";
}

TEST(Framebuffer, HasAnotherHashWhereverAPixelChanges) {
  File file;
  file.fill(kRootColour);
  Framebuffer framebuffer = file.open();
  Frame frame;
  const std::uint64_t before = framebuffer.read(frame)->hash;
  EXPECT_EQ(framebuffer.read(frame)->hash, before);

  for (std::size_t pixel : {std::size_t{0}, std::size_t{64 * 64}, std::size_t{64 * 100 - 1}}) {
    file.set(pixel, 0x123456);
    const FrameDigest look = *framebuffer.read(frame);
    EXPECT_NE(look.hash, before);
    EXPECT_FALSE(look.blank);
    file.set(pixel, kRootColour);
    EXPECT_EQ(framebuffer.read(frame)->hash, before);
  }
}

TEST(Framebuffer, ThatIsCutShortIsAnError) {
  File file;
  Framebuffer framebuffer = file.open();
  Frame frame;
  ASSERT_EQ(::ftruncate(file.file.get(), kPixelsOffset + 1000), 0);

  Result<FrameDigest> look = framebuffer.read(frame);

  ASSERT_FALSE(look);
  EXPECT_EQ(look.error().code, Code::unavailable);
}

}  // namespace

}  // namespace vitrine::display
