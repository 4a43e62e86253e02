// SPDX-License-Identifier: Apache-2.0
#include "wire/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ios>
#include <string>

namespace vitrine::wire {
namespace {

TEST(Utf8, AcceptsEveryCodePointAndNoSurrogate) {
  const auto encode = [](std::uint32_t point) {
    std::string out;
    const auto tail = [&](int shift) {
      out += static_cast<char>(0x80 | ((point >> shift) & 0x3F));
    };
    if (point < 0x80) {
      out += static_cast<char>(point);
    } else if (point < 0x800) {
      out += static_cast<char>(0xC0 | (point >> 6));
      tail(0);
    } else if (point < 0x10000) {
      out += static_cast<char>(0xE0 | (point >> 12));
      tail(6), tail(0);
    } else {
      out += static_cast<char>(0xF0 | (point >> 18));
      tail(12), tail(6), tail(0);
    }
    return out;
  };

  for (std::uint32_t point = 0; point < 0x120000; ++point) {
    const bool valid = point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
    ASSERT_EQ(is_utf8(encode(point)), valid) << std::hex << point;
  }
}

TEST(Utf8, RefusesEveryTruncation) {
  for (const std::string_view text : {"é", "€", "😀"})
    for (std::size_t size = 1; size < text.size(); ++size) {
      EXPECT_FALSE(is_utf8(text.substr(0, size)));
      EXPECT_FALSE(is_utf8(std::string(text.substr(0, size)) + "a"));
      EXPECT_FALSE(is_utf8(text.substr(size))) << "starts in the middle";
    }
}

TEST(Utf8, RefusesOverlongForms) {
  for (const std::string_view text :
       {"\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xE0\x9F\xBF", "\xF0\x80\x80\xAF",
        "\xF0\x8F\xBF\xBF", "\xF8\x88\x80\x80\x80", "\xFC\x84\x80\x80\x80\x80", "\xFE", "\xFF"})
    EXPECT_FALSE(is_utf8(text));
}

TEST(Utf8, AcceptsTheEmptyTextAndNul) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8(std::string_view("\0", 1)));
}

}  // namespace
}  // namespace vitrine::wire
