// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/cpu_fairness.h"

#include <gtest/gtest.h>

#include "keeper/loop_testing.h"

namespace vitrine::keeper {
namespace {

using std::chrono::milliseconds;

class FakeAccount final : public CpuAccount {
 public:
  Result<std::uint64_t> used_usec() const override {
    if (!measured) return Error{Code::unsupported, "not measured"};
    return used;
  }
  std::uint64_t waited_usec() const override { return waited; }
  bool is_contended() const override { return contended; }
  void yield() override { yielding = shares; }
  void stop_yielding() override { yielding = false; }
  bool yields() const override { return yielding; }

  std::uint64_t used = 1;
  std::uint64_t waited = 0;
  bool measured = true;
  bool contended = false;
  bool shares = true;  // the host has shares to give
  bool yielding = false;
};

class CpuFairnessTest : public testing::Test {
 protected:
  // Uses `permille` of a CPU for the time.
  void run(milliseconds time, std::uint64_t permille) {
    for (; time > milliseconds(0); time -= milliseconds(10)) {
      account.used += 10 * permille;
      time_.advance(milliseconds(10));
    }
  }

  ManualLoop time_;
  CpuFairness fairness{time_.loop()};
  FakeAccount account;
};

TEST_F(CpuFairnessTest, YieldsWhileAnExecutionRuns) {
  const auto member = fairness.add(account);

  member->execution_started();
  run(milliseconds(2000), 0);

  EXPECT_TRUE(account.yielding);
}

TEST_F(CpuFairnessTest, StopsYieldingOnceItIsIdleAfterAnExecution) {
  const auto member = fairness.add(account);
  member->execution_started();

  member->execution_ended();
  EXPECT_TRUE(account.yielding) << "nobody has looked yet whether it is idle";
  run(milliseconds(110), 0);

  EXPECT_FALSE(account.yielding);
}

TEST_F(CpuFairnessTest, GoesOnYieldingWhileWhatAnExecutionStartedUsesTheCpu) {
  const auto member = fairness.add(account);
  member->execution_started();
  member->execution_ended();

  run(milliseconds(1000), 500);
  EXPECT_TRUE(account.yielding);

  run(milliseconds(210), 0);
  EXPECT_FALSE(account.yielding);
}

TEST_F(CpuFairnessTest, TakesAStarvedSandboxForABusyOne) {
  const auto member = fairness.add(account);
  account.contended = true;
  member->execution_started();
  member->execution_ended();

  for (int i = 0; i < 10; ++i) {
    account.waited += 90'000;
    time_.advance(milliseconds(100));
  }

  EXPECT_TRUE(account.yielding);
}

TEST_F(CpuFairnessTest, FindsASandboxThatUsesTheCpuWithNoExecution) {
  const auto member = fairness.add(account);

  run(milliseconds(1100), 900);

  EXPECT_TRUE(account.yielding);
}

TEST_F(CpuFairnessTest, LeavesASandboxAloneThatUsesLittle) {
  const auto member = fairness.add(account);

  run(milliseconds(5000), 100);

  EXPECT_FALSE(account.yielding);
}

TEST_F(CpuFairnessTest, WantsMoreIdleTimeOfOneThatWasCaughtAgain) {
  const auto member = fairness.add(account);
  run(milliseconds(1100), 900);
  run(milliseconds(300), 0);
  ASSERT_FALSE(account.yielding) << "two idle periods suffice after the first time";
  run(milliseconds(1600), 900);
  ASSERT_TRUE(account.yielding);

  run(milliseconds(300), 0);

  EXPECT_TRUE(account.yielding);
}

TEST_F(CpuFairnessTest, NeverYieldsWhileItIsKilled) {
  const auto member = fairness.add(account);
  member->execution_started();

  member->stop();
  run(milliseconds(2000), 1000);

  EXPECT_FALSE(account.yielding);
}

TEST_F(CpuFairnessTest, GivesTheUsualShareBackAtTheEnd) {
  auto member = fairness.add(account);
  member->execution_started();

  member.reset();
  time_.advance(milliseconds(2000));

  EXPECT_FALSE(account.yielding);
}

TEST_F(CpuFairnessTest, StopsYieldingWhereNothingIsMeasured) {
  const auto member = fairness.add(account);
  member->execution_started();
  account.measured = false;

  member->execution_ended();

  EXPECT_FALSE(account.yielding);
}

TEST_F(CpuFairnessTest, SweepsEveryMemberInTurn) {
  std::vector<std::unique_ptr<FakeAccount>> accounts;
  std::vector<std::unique_ptr<CpuFairness::Member>> members;
  for (int i = 0; i < 100; ++i) {
    accounts.push_back(std::make_unique<FakeAccount>());
    members.push_back(fairness.add(*accounts.back()));
  }

  for (int i = 0; i < 100; ++i) {
    for (auto& one : accounts) one->used += 90'000;
    time_.advance(milliseconds(100));
  }

  for (auto& one : accounts) EXPECT_TRUE(one->yielding);
}

}  // namespace
}  // namespace vitrine::keeper
