// SPDX-License-Identifier: Apache-2.0
// Resets: a new sandbox, or the same one with a new worker.
#include <chrono>

#include "keeper/sessions_testing.h"

namespace vitrine::keeper {
namespace {

using std::chrono::milliseconds;

TEST_F(SessionsTest, ResetsIntoANewSandboxWithTheSamePackages) {
  const std::uint64_t id = create();
  sessions.mount_layers({.session = id, .layers = {"abc", "def"}}, [](Status) {});
  isolation.only().mounting.front().second(ok());

  sessions.reset({.session = id, .files = Files::wipe}, kOwner, [](Result<wire::Opened>) {});

  EXPECT_EQ(isolation.given_back, 1);
  EXPECT_EQ(isolation.refreshed, 0);
  EXPECT_EQ(isolation.only().spec.layers, (LayerList{"abc", "def"}));
}

TEST_F(SessionsTest, RefreshesTheSandboxWhereFilesAreKept) {
  const std::uint64_t id = create();
  isolation.only().observer.died(kExited);
  std::optional<Result<wire::Opened>> opened;

  sessions.reset({.session = id, .files = Files::keep}, kOwner, keep(opened));

  ASSERT_TRUE(opened && *opened);
  EXPECT_EQ(isolation.refreshed, 1);
  EXPECT_TRUE(sessions.interrupt(id, 1)) << "it lives again";
}

TEST_F(SessionsTest, RefusesToKeepFilesWhereTheIsolationCannot) {
  const std::uint64_t id = create();
  isolation.refreshes = false;
  std::optional<Result<wire::Opened>> opened;

  sessions.reset({.session = id, .files = Files::keep}, kOwner, keep(opened));

  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->error().code, Code::unsupported);
  EXPECT_TRUE(sessions.interrupt(id, 1)) << "nothing happened to it";
}

TEST_F(SessionsTest, RefusesASecondResetMeanwhile) {
  const std::uint64_t id = create();
  isolation.holds = true;
  std::optional<Result<wire::Opened>> second;
  sessions.reset({.session = id}, kOwner, [](Result<wire::Opened>) {});

  sessions.reset({.session = id}, kOwner, keep(second));

  ASSERT_TRUE(second);
  EXPECT_EQ(second->error().code, Code::conflict);
}

TEST_F(SessionsTest, ForgetsTheDeadlineOfTheWorkerBeforeAReset) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.watch({.session = id, .execution = 1, .milliseconds = 100}));

  sessions.reset({.session = id}, kOwner, [](Result<wire::Opened>) {});
  time.advance(milliseconds(10'000));

  EXPECT_TRUE(owners.of<wire::TimedOut>().empty());
  EXPECT_TRUE(isolation.only().calls.empty());
}

}  // namespace
}  // namespace vitrine::keeper
