// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/worker_state.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <string>

namespace vitrine::keeper {
namespace {

std::string call(long number, const char* arguments) {
  return std::to_string(number) + " " + arguments + " 0x0 0x8 0x7ffd1000 0x7f1234\n";
}

TEST(WaitsForMessage, IsTrueInPpollOfOneDescriptorWithoutATimeout) {
  EXPECT_TRUE(waits_for_message(call(SYS_ppoll, "0x7ffd7e0a1000 0x1 0x0")));
}

TEST(WaitsForMessage, IsFalseForAnyOtherWait) {
  EXPECT_FALSE(waits_for_message(call(SYS_ppoll, "0x7ffd7e0a1000 0x2 0x0")));
  EXPECT_FALSE(waits_for_message(call(SYS_ppoll, "0x7ffd7e0a1000 0x1 0x7ffd7e0a2000")));
  EXPECT_FALSE(waits_for_message(call(SYS_poll, "0x7ffd7e0a1000 0x1 0x0")));
  EXPECT_FALSE(waits_for_message("running\n"));
  EXPECT_FALSE(waits_for_message(""));
}

TEST(WaitsForMessage, IsFalseForAWorkerThatIsGone) { EXPECT_FALSE(worker_waits_for_message(-1)); }

}  // namespace
}  // namespace vitrine::keeper
