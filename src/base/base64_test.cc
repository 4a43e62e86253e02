// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

TEST(Base64, IsReadWithAndWithoutPadding) {
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("Zg=="), "f");
  EXPECT_EQ(from_base64("Zm8"), "fo");
  EXPECT_EQ(from_base64("Zm9vYmFy"), "foobar");
  EXPECT_EQ(from_base64("/+8="), "\xFF\xEF");
}

TEST(Base64, EndsWhereItsAlphabetDoes) {
  EXPECT_EQ(from_base64("Zm9v\nYmFy"), "foo");
  EXPECT_EQ(from_base64(std::string_view("\0Zm9v", 5)), "");
}

}  // namespace
}  // namespace vitrine
