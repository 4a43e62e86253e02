// SPDX-License-Identifier: Apache-2.0
#include "wire/codec.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace vitrine::wire {
namespace {

TEST(Writer, PutsTheLowByteFirst) {
  EXPECT_EQ(Writer().u16(0x1234).take(), std::string("\x34\x12", 2));
  EXPECT_EQ(Writer().u32(0x12345678).take(), std::string("\x78\x56\x34\x12", 4));
  EXPECT_EQ(Writer().u64(1).take(), std::string("\1\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(Writer().i32(-2).take(), std::string("\xFE\xFF\xFF\xFF", 4));
}

TEST(Writer, PutsTheLengthBeforeTheBytes) {
  EXPECT_EQ(Writer().bytes("abc").take(), std::string("\3\0\0\0abc", 7));
  EXPECT_EQ(Writer().bytes("").take(), std::string("\0\0\0\0", 4));
}

TEST(Reader, ReadsWhatAWriterWrote) {
  const std::string message = Writer()
                                  .u8(255)
                                  .u16(65'535)
                                  .u32(4'000'000'000)
                                  .u64(std::numeric_limits<std::uint64_t>::max())
                                  .i32(std::numeric_limits<std::int32_t>::min())
                                  .bytes(std::string_view("a\0b", 3))
                                  .bytes("")
                                  .take();

  Reader in(message);

  EXPECT_EQ(in.u8(), 255);
  EXPECT_EQ(in.u16(), 65'535);
  EXPECT_EQ(in.u32(), 4'000'000'000);
  EXPECT_EQ(in.u64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(in.i32(), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(in.text(), std::string("a\0b", 3));
  EXPECT_EQ(in.bytes(), "");
  EXPECT_TRUE(in.complete());
}

TEST(Reader, IsNotCompleteWhileBytesAreLeft) {
  Reader in("ab");

  (void)in.u8();

  EXPECT_FALSE(in.complete());
  EXPECT_FALSE(in.failed());
}

TEST(Reader, GivesNothingFromEmptyInput) {
  Reader in("");
  EXPECT_TRUE(in.complete());

  EXPECT_EQ(in.u8(), 0);

  EXPECT_TRUE(in.failed());
  EXPECT_FALSE(in.complete());
}

TEST(Reader, StaysFailedAfterTheFirstMistake) {
  Reader in("\1\2\3");

  EXPECT_EQ(in.u32(), 0u);

  EXPECT_EQ(in.u8(), 0) << "there was a byte, but nothing is believed any more";
  EXPECT_EQ(in.bytes(), "");
  EXPECT_TRUE(in.failed());
}

TEST(Reader, RefusesALengthThatLies) {
  for (const std::uint32_t length : {4u, 5u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    const std::string message = Writer().u32(length).take() + "abc";
    Reader in(message);

    EXPECT_EQ(in.bytes(), "");
    EXPECT_TRUE(in.failed()) << length;
  }
}

TEST(Reader, GivesAViewIntoTheMessageAndCopiesNothing) {
  const std::string message = Writer().bytes("abc").take();
  Reader in(message);

  const std::string_view view = in.bytes();

  EXPECT_EQ(view.data(), message.data() + 4);
}

TEST(Reader, FailsOnEveryTruncation) {
  const std::string message = Writer().u16(1).bytes("abcdef").u64(2).u8(3).take();

  for (std::size_t size = 0; size < message.size(); ++size) {
    Reader in(std::string_view(message).substr(0, size));
    (void)in.u16(), (void)in.bytes(), (void)in.u64(), (void)in.u8();
    EXPECT_TRUE(in.failed()) << "cut after " << size;
  }
}

TEST(Reader, NeverReadsBeyondRandomBytes) {
  std::mt19937 random(7);

  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 4 == 0 ? random() : 0);
    Reader in(bytes);
    std::size_t read = 0;
    while (!in.failed() && !in.complete()) {
      switch (random() % 5) {
        case 0: read += 1, (void)in.u8(); break;
        case 1: read += 2, (void)in.u16(); break;
        case 2: read += 4, (void)in.u32(); break;
        case 3: read += 8, (void)in.u64(); break;
        default: read += 4 + in.bytes().size();
      }
    }
    if (!in.failed()) {
      EXPECT_EQ(read, bytes.size());
    }
  }
}

}  // namespace
}  // namespace vitrine::wire
