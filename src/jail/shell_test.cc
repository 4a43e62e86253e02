// SPDX-License-Identifier: Apache-2.0
#include "jail/shell.h"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>

namespace vitrine::jail {
namespace {

std::ptrdiff_t place_of(std::string_view name) {
  const auto* found = std::ranges::find(kShellSteps, name, &ShellStep::name);
  return found == kShellSteps.end() ? -1 : found - kShellSteps.begin();
}

TEST(ShellSteps, ForbidNamespacesWhileSettingsCanBeWritten) {
  EXPECT_EQ(kShellSteps.at(static_cast<std::size_t>(place_of("namespaces"))).apply,
            &forbid_namespaces);
  EXPECT_LT(place_of("root"), place_of("namespaces"));
  EXPECT_LT(place_of("namespaces"), place_of("settings"));
  EXPECT_LT(place_of("inotify"), place_of("settings"));
}

TEST(ShellSteps, ProtectSettingsBeforeAnythingRunsInTheNewRoot) {
  EXPECT_LT(place_of("settings"), place_of("pivot"));
  EXPECT_LT(place_of("settings"), place_of("privileges"));
}

TEST(ShellSteps, ReserveTheCgroupNamespaceForTheStepThatMakesIt) {
  EXPECT_LT(place_of("namespaces"), place_of("cgroup namespace"));
}

TEST(ShellSteps, EndWithInit) { EXPECT_EQ(kShellSteps.back().name, "init"); }

TEST(MountPlan, LeavesSettingsToTheirOwnStep) {
  const std::vector<Mount> plan = mount_plan({.layers = {"a", "b"}});

  EXPECT_EQ(std::ranges::count(plan, "proc", &Mount::target), 1);
  EXPECT_EQ(std::ranges::count(plan, "proc/sys", &Mount::target), 0);
}

TEST(MountPlan, MakesSettingsReadOnly) {
  const std::vector<Mount> settings = settings_mounts();

  ASSERT_EQ(settings.size(), 1u);
  EXPECT_EQ(settings[0].target, "proc/sys");
  EXPECT_NE(settings[0].flags & MS_RDONLY, 0u);
}

}  // namespace
}  // namespace vitrine::jail
