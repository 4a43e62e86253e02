// SPDX-License-Identifier: Apache-2.0
#include "session/output.h"

#include <gtest/gtest.h>

namespace vitrine::session {
namespace {

constexpr std::size_t kPlenty = 1 << 20;

// What a stream shows in all, when `bytes` come in pieces of this size.
std::string shown(const std::string& bytes, std::size_t piece) {
  Output output(kPlenty);
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    text += output.add(bytes.substr(at, piece));
  text += output.finish();
  EXPECT_EQ(text, output.text());
  return text;
}

struct Sample {
  std::string bytes;
  std::string text;
};

const Sample kSamples[] = {
    {"", ""},
    {"plain text, longer than a word", "plain text, longer than a word"},
    {"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80!", "café € 😀!"},
    {"ends in the middle: \xF0\x9F\x98", "ends in the middle: \uFFFD"},
    {"\xFF\xFE", "\uFFFD\uFFFD"},
    {"12345678\x80 90", "12345678\uFFFD 90"},
    {"\xC0\xAF", "\uFFFD\uFFFD"},                      // overlong
    {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},            // half of a surrogate pair
    {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // beyond the last character
    {"\xE2\x82 and on", "\uFFFD\uFFFD and on"},        // a character that never ends
    {std::string("nul \0 inside", 12), std::string("nul \0 inside", 12)},
};

TEST(OutputTest, BytesBecomeTheSameTextInPiecesOfAnySize) {
  for (const Sample& sample : kSamples)
    for (std::size_t piece = 1; piece <= sample.bytes.size() + 1; ++piece)
      EXPECT_EQ(shown(sample.bytes, piece), sample.text) << "in pieces of " << piece;
}

TEST(OutputTest, KeepsHeadAndTailAndCountsWhatLiesBetween) {
  Output output(100);
  EXPECT_EQ(output.add(std::string(40, 'a')), std::string(40, 'a'));
  EXPECT_EQ(output.add(std::string(20, 'b')), std::string(10, 'b'));
  EXPECT_EQ(output.add(std::string(1000, 'c')), "");
  EXPECT_EQ(output.add(std::string(50, 'd')), "");
  EXPECT_EQ(output.finish(), "\n... 1010 bytes left out ...\n" + std::string(50, 'd'));
  EXPECT_TRUE(output.truncated());
  EXPECT_EQ(output.text().substr(0, 50), std::string(40, 'a') + std::string(10, 'b'));
}

TEST(OutputTest, CutsNoCharacter) {
  Output output(21);
  std::string text;
  for (int i = 0; i < 40; ++i) text += output.add("€");
  text += output.finish();
  EXPECT_EQ(text, "€€€\n... 102 bytes left out ...\n€€€");
}

TEST(OutputTest, WhatJustFitsIsWhole) {
  Output output(20);
  const std::string shown_first = output.add("0123456789abcdefghij");
  EXPECT_EQ(shown_first + output.finish(), "0123456789abcdefghij");
  EXPECT_FALSE(output.truncated());
}

}  // namespace
}  // namespace vitrine::session
