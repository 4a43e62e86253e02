// SPDX-License-Identifier: Apache-2.0
#include "screen/keys.h"

#include <gtest/gtest.h>

namespace vitrine::screen {
namespace {

Keysym key(std::string_view name) {
  Result<Keysym> found = parse_key(name);
  return found ? *found : 0;
}

std::vector<Keysym> chord(std::string_view text) {
  Result<std::vector<Keysym>> found = parse_chord(text);
  return found ? *found : std::vector<Keysym>{};
}

TEST(ParseKey, KnowsX11NamesOtherNamesAndCharacters) {
  EXPECT_EQ(key("Return"), 0xFF0Du);
  EXPECT_EQ(key("enter"), 0xFF0Du);
  EXPECT_EQ(key("RETURN"), 0xFF0Du);
  EXPECT_EQ(key("F12"), 0xFFC9u);
  EXPECT_EQ(key("f12"), 0xFFC9u);
  EXPECT_EQ(key("PageDown"), 0xFF56u);
  EXPECT_EQ(key("page_down"), 0xFF56u);
  EXPECT_EQ(key("a"), 'a');
  EXPECT_EQ(key("A"), 'A');
  EXPECT_EQ(key("é"), 0xE9u);
  EXPECT_EQ(key("eacute"), 0xE9u);
  EXPECT_EQ(key("Eacute"), 0xC9u) << "capital and small letters are two keys";
  EXPECT_EQ(key("U+20AC"), 0x010020ACu);
  EXPECT_EQ(key("€"), 0x010020ACu);
  EXPECT_EQ(key("😀"), 0x0101F600u);
  EXPECT_EQ(key("+"), '+');
}

TEST(ParseKey, SaysWhatWouldBeAccepted) {
  for (const char* wrong :
       {"", "frobnicate", "ctrl-s", "U+110000", "U+D800", "U+", "\x1B", "F99"}) {
    Result<Keysym> none = parse_key(wrong);
    ASSERT_FALSE(none) << wrong;
    EXPECT_NE(none.error().message.find("Return, Escape"), std::string::npos);
  }
}

TEST(ParseChord, SplitsAtPlus) {
  EXPECT_EQ(chord("ctrl+shift+s"), (std::vector<Keysym>{0xFFE3, 0xFFE1, 's'}));
  EXPECT_EQ(chord("ctrl++"), (std::vector<Keysym>{0xFFE3, '+'}));
  EXPECT_EQ(chord("+"), (std::vector<Keysym>{'+'}));
  EXPECT_EQ(chord("ctrl+U+20AC"), (std::vector<Keysym>{0xFFE3, 0x010020AC}));
  EXPECT_EQ(chord("u"), (std::vector<Keysym>{'u'}));
  EXPECT_TRUE(chord("ctrl+").empty());
  EXPECT_TRUE(chord("").empty());
  EXPECT_TRUE(chord("a+b+c+d+e+f+g+h+i").empty()) << "more than eight";
}

TEST(ParseChord, TakesACapitalAsItsKey) {
  EXPECT_EQ(chord("Ctrl+S"), chord("ctrl+s"));
  EXPECT_EQ(chord("S"), (std::vector<Keysym>{'S'}));
  EXPECT_EQ(chord("shift+S"), (std::vector<Keysym>{0xFFE1, 'S'}));
}

TEST(KeysymOf, RefusesControlCharacters) {
  EXPECT_EQ(keysym_of('\n'), 0xFF0Du);
  EXPECT_EQ(keysym_of('\t'), 0xFF09u);
  EXPECT_EQ(keysym_of(0x1B), 0u);
  EXPECT_EQ(keysym_of(0x7F), 0u);
  EXPECT_EQ(keysym_of(0x85), 0u);
}

TEST(CharactersOf, ReadsEveryLengthOfUtf8) { EXPECT_EQ(characters_of("aé€😀"), U"aé€😀"); }

}  // namespace
}  // namespace vitrine::screen
