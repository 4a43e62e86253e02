// SPDX-License-Identifier: Apache-2.0
#include "keeper/front.h"

#include <gtest/gtest.h>

namespace vitrine::keeper {
namespace {

using namespace std::chrono_literals;

TEST(RestartPause, IsNoneForAFrontThatWasReady) { EXPECT_EQ(restart_pause(0), 0ms); }

TEST(RestartPause, IsShortForTheFirstFailure) { EXPECT_EQ(restart_pause(1), 100ms); }

TEST(RestartPause, GrowsButStaysBelowASecond) {
  for (std::uint32_t failures = 1; failures < 100; ++failures) {
    EXPECT_GE(restart_pause(failures + 1), restart_pause(failures));
    EXPECT_LT(restart_pause(failures), 1s);
  }
  EXPECT_LT(restart_pause(UINT32_MAX), 1s);
}

}  // namespace
}  // namespace vitrine::keeper
