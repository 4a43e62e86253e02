// SPDX-License-Identifier: Apache-2.0
#include "jail/floor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "jail/landlock.h"

namespace vitrine::jail {
namespace {

std::size_t place_of(std::string_view name) {
  const auto found =
      std::ranges::find_if(kFloorSteps, [&](const WorkerStep& step) { return step.name == name; });
  return static_cast<std::size_t>(found - kFloorSteps.begin());
}

TEST(Floor, InstallsSeccompLastAndDropsPrivilegesAfterTheIds) {
  EXPECT_EQ(kFloorSteps.back().name, "seccomp");
  EXPECT_EQ(kFloorSteps.front().name, "descriptors");
  EXPECT_LT(place_of("session ids"), place_of("privileges"));
  EXPECT_LT(place_of("session ids"), place_of("home"));
  EXPECT_LT(place_of("privileges"), place_of("landlock"));
}

TEST(Floor, RefusesAWorkerWithoutAUserId) {
  const WorkerPlan plan{};
  WorkerEntry entry{.plan = plan,
                    .sys = Sys{},
                    .shell = {},
                    .ruleset = {},
                    .socket = {},
                    .out = {},
                    .err = {},
                    .cgroups = {},
                    .filter = {}};

  EXPECT_FALSE(become_session_user(entry));
}

TEST(Floor, LandlockGrantsWritingInTheHomeAlone) {
  const LandlockRules rules = floor_rules(promised_by(6), "/home/sandbox/s1");
  const std::uint64_t write = 1u << 1;  // LANDLOCK_ACCESS_FS_WRITE_FILE

  for (const LandlockPath& path : rules.paths) {
    EXPECT_NE(path.path, "/proc");
    if ((path.access & write) != 0)
      EXPECT_TRUE(path.path == "/home/sandbox/s1" || path.path.starts_with("/dev/")) << path.path;
  }
  EXPECT_EQ(rules.handled_net, kLandlockNetBindTcp | kLandlockNetConnectTcp);
  EXPECT_TRUE(floor_rules(promised_by(0), "/home/sandbox/s1").paths.empty());
}

}  // namespace
}  // namespace vitrine::jail
