// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace vitrine {
namespace {

std::string logged(Level level, std::string_view program, std::string_view text) {
  testing::internal::CaptureStderr();
  log(level, program, text);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, IsOneLineWithItsLevelAndProgram) {
  const std::string line = logged(Level::warning, "front", "half a core is left");

  EXPECT_TRUE(line.ends_with(" warning front: half a core is left\n")) << line;
}

TEST(Log, LetsNoTextMakeAnotherLine) {
  const std::string line = logged(Level::error, "front", "one\nerror front: two\x1b[2J");

  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_NE(line.find("one\\x0aerror front: two\\x1b[2J"), std::string::npos) << line;
}

TEST(Log, CutsWhatIsTooLong) {
  EXPECT_LT(logged(Level::info, "front", std::string(100'000, 'x')).size(), 2100u);
}

}  // namespace
}  // namespace vitrine
