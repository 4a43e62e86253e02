// SPDX-License-Identifier: Apache-2.0
#include "api/text.h"

#include <gtest/gtest.h>

namespace vitrine::api {
namespace {

TEST(AsText, LeavesTextAlone) { EXPECT_EQ(as_text("a ü 🎉\n"), "a ü 🎉\n"); }

TEST(AsText, MarksWhatIsNoText) { EXPECT_EQ(as_text("a\xff\xc3"), "a??"); }

TEST(Shown, CutsALongNameBetweenCharacters) {
  EXPECT_EQ(shown("short"), "short");
  EXPECT_EQ(shown(std::string(64, 'a')), std::string(64, 'a'));
  EXPECT_EQ(shown(std::string(65, 'a')), std::string(64, 'a') + "...");
  EXPECT_EQ(shown(std::string(63, 'a') + "ü"), std::string(63, 'a') + "...");
  EXPECT_EQ(shown(std::string(100, '\x80')), "...");
}

}  // namespace
}  // namespace vitrine::api
