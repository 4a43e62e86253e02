// SPDX-License-Identifier: Apache-2.0
// Deadlines of executions, and the death of a worker and what is said of it.
#include <chrono>
#include <string>
#include <vector>

#include "keeper/sessions_testing.h"

namespace vitrine::keeper {
namespace {

using std::chrono::milliseconds;
using Strings = std::vector<std::string>;

// --- deadlines

TEST_F(SessionsTest, AsksForTheStackThenInterruptsAtTheDeadline) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.watch({.session = id, .execution = 4, .milliseconds = 100}));

  time.advance(milliseconds(99));
  EXPECT_EQ(isolation.only().calls, (Strings{"started"}));
  time.advance(milliseconds(1));

  EXPECT_EQ(isolation.only().calls, (Strings{"started", "ask_stack 4", "interrupt 4"}));
  ASSERT_EQ(owners.of<wire::TimedOut>().size(), 1u);
  EXPECT_EQ(owners.of<wire::TimedOut>()[0].second.execution, 4u);
}

TEST_F(SessionsTest, KillsAfterTheGraceAndNamesTheTimeout) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.watch({.session = id, .execution = 4, .milliseconds = 100}));

  time.advance(milliseconds(1'099));
  EXPECT_NE(isolation.only().calls.back(), "kill");
  time.advance(milliseconds(1));
  EXPECT_EQ(isolation.only().calls.back(), "kill");
  isolation.only().observer.died(kKilled);

  ASSERT_EQ(owners.of<wire::Died>().size(), 1u);
  EXPECT_EQ(owners.of<wire::Died>()[0].second.death.cause, Cause::timeout);
}

TEST_F(SessionsTest, LeavesAnExecutionAloneThatYieldedWithinTheGrace) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.watch({.session = id, .execution = 4, .milliseconds = 100}));
  time.advance(milliseconds(600));

  ASSERT_TRUE(sessions.unwatch({.session = id, .execution = 4}));
  time.advance(milliseconds(10'000));

  EXPECT_EQ(isolation.only().calls.back(), "ended");
}

TEST_F(SessionsTest, IgnoresAnUnwatchOfAnotherExecution) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.watch({.session = id, .execution = 4, .milliseconds = 100}));

  ASSERT_TRUE(sessions.unwatch({.session = id, .execution = 3}));
  time.advance(milliseconds(100));

  EXPECT_EQ(owners.of<wire::TimedOut>().size(), 1u);
  EXPECT_EQ(isolation.only().calls, (Strings{"started", "ask_stack 4", "interrupt 4"}));
}

TEST_F(SessionsTest, SparesAnIdleWorkerWhoseOwnerIsGone) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.watch({.session = id, .execution = 4, .milliseconds = 100}));
  owners.gone.insert(kOwner);
  time.advance(milliseconds(1'100));
  ASSERT_EQ(isolation.only().idle_questions.size(), 1u);

  isolation.only().idle_questions.front()(true);

  EXPECT_EQ(isolation.only().calls.back(), "ended");
  EXPECT_EQ(sessions.list(0).sessions[0].execution, 0u);
}

TEST_F(SessionsTest, KillsABusyWorkerWhoseOwnerIsGone) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.watch({.session = id, .execution = 4, .milliseconds = 100}));
  owners.gone.insert(kOwner);
  time.advance(milliseconds(1'100));

  isolation.only().idle_questions.front()(false);

  EXPECT_EQ(isolation.only().calls.back(), "kill");
}

TEST_F(SessionsTest, IgnoresALateAnswerAboutAnExecutionThatIsOver) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.watch({.session = id, .execution = 4, .milliseconds = 100}));
  owners.gone.insert(kOwner);
  time.advance(milliseconds(1'100));
  ASSERT_TRUE(sessions.attach(id, 6));
  ASSERT_TRUE(sessions.unwatch({.session = id, .execution = 4}));

  isolation.only().idle_questions.front()(false);

  EXPECT_EQ(isolation.only().calls.back(), "ended") << "the next client has its answer";
}

TEST_F(SessionsTest, IgnoresALateAnswerAboutASessionThatIsGone) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.watch({.session = id, .execution = 4, .milliseconds = 100}));
  owners.gone.insert(kOwner);
  time.advance(milliseconds(1'100));
  const Answer<bool> late = isolation.only().idle_questions.front();

  sessions.end(id, [](Status) {});
  late(false);

  EXPECT_EQ(sessions.count(), 0u);
}

// --- death

TEST_F(SessionsTest, TellsTheCauseThatTheKernelSaw) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.kill(id));

  isolation.only().observer.died(kExited);

  ASSERT_EQ(owners.of<wire::Died>().size(), 1u);
  EXPECT_EQ(owners.of<wire::Died>()[0].second.death.cause, Cause::exited)
      << "it exited before we could kill it";
}

TEST_F(SessionsTest, NamesAKillByRequest) {
  const std::uint64_t id = create();

  ASSERT_TRUE(sessions.kill(id));
  isolation.only().observer.died(kKilled);

  EXPECT_EQ(owners.of<wire::Died>()[0].second.death.cause, Cause::killed);
}

TEST_F(SessionsTest, RefusesVerbsOfADeadSessionButNotItsFiles) {
  const std::uint64_t id = create();
  isolation.only().observer.died(kExited);

  EXPECT_FALSE(sessions.interrupt(id, 1));
  EXPECT_FALSE(sessions.watch({.session = id, .execution = 1, .milliseconds = 1}));
  EXPECT_FALSE(sessions.kill(id));
  EXPECT_TRUE(sessions.files(id));
  ASSERT_TRUE(sessions.list(0).sessions[0].death);
}

TEST_F(SessionsTest, TellsOnceOfADeathThatTheEndOfAnExecutionShows) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.watch({.session = id, .execution = 1, .milliseconds = 100}));
  isolation.only().dies_at_end = Death{.cause = Cause::oom, .code = SIGKILL};

  ASSERT_TRUE(sessions.unwatch({.session = id, .execution = 1}));
  ASSERT_TRUE(sessions.unwatch({.session = id, .execution = 1}));

  ASSERT_EQ(owners.of<wire::Died>().size(), 1u);
  EXPECT_EQ(owners.of<wire::Died>()[0].second.death.cause, Cause::oom);
}

TEST_F(SessionsTest, ForgetsTheDeadlineOfADeadWorker) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.watch({.session = id, .execution = 1, .milliseconds = 100}));

  isolation.only().observer.died(kExited);
  time.advance(milliseconds(10'000));

  EXPECT_TRUE(owners.of<wire::TimedOut>().empty());
}

}  // namespace
}  // namespace vitrine::keeper
