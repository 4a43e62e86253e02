// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/judge.h"

#include <gtest/gtest.h>

#include "testing/door.h"
#include "testing/temp_dir.h"

namespace vitrine::api::openenv {
namespace {

using std::chrono::seconds;
using vitrine::testing::FakeWorker;
using Reward = vitrine::testing::Front::Started<std::optional<double>>;

constexpr const char* kRules = R"({"groups": []})";

// A judge on a fake keeper: the test is the Python that judges.
class JudgeTest : public ::testing::Test {
 protected:
  Judge judge_by(std::string rules) {
    return Judge(front.context.get_executor(), door.operations, std::move(rules));
  }
  // Answers the last execution of the judge's session.
  void answer(const std::string& text, wire::Claim claim = wire::Claim::ok) {
    FakeWorker& worker = front.keeper.last_worker();
    worker.print(text);
    worker.finished(worker.count(wire::Type::execute), claim);
    front.settle();
  }
  void die() {
    const std::uint64_t session = front.keeper.last_session();
    front.keeper.worker_died(session, {});
    front.keeper.worker(session).close();
    front.settle();
  }
  void start(Judge& judge) {
    auto started = front.start(judge.start());
    answer("ok\n");
    ASSERT_TRUE(started.value());
  }
  Reward begin(Judge& judge, const std::string& code) {
    return front.start(judge.reward({.code = code}));
  }
  std::size_t executions() { return front.keeper.last_worker().count(wire::Type::execute); }

  vitrine::testing::TempDir directory;
  vitrine::testing::Life life{directory.path()};
  vitrine::testing::Front& front = life.front;
  vitrine::testing::Door door{life, directory.path()};
};

TEST_F(JudgeTest, WithoutRulesEveryRewardIsZeroAndThereIsNoSession) {
  Judge judge = judge_by("");

  EXPECT_TRUE(front.run(judge.start()));
  EXPECT_EQ(front.run(judge.reward({.code = "1"})), 0.0);
  EXPECT_EQ(front.keeper.count<wire::Create>(), 0u);
}

TEST_F(JudgeTest, TheRulesOfOpenEnvNeedASessionOnlyForWhatTheyCannotTell) {
  Judge judge = judge_by(std::string(openenv_rules()));

  EXPECT_TRUE(front.run(judge.start()));
  EXPECT_TRUE(front.run(judge.reward({.code = "print(1)", .outcome = Outcome::ok})));
  EXPECT_EQ(front.keeper.count<wire::Create>(), 0u);
}

TEST_F(JudgeTest, RulesOfAFileAreReadByASessionOfTheirOwn) {
  Judge judge = judge_by(kRules);
  auto started = front.start(judge.start());
  ASSERT_EQ(front.keeper.count<wire::Create>(), 1u);
  EXPECT_EQ(front.keeper.asked<wire::Create>().front().lifetime, Lifetime::service);
  EXPECT_EQ(front.keeper.last_worker().code(0), judging_program());

  answer("ok\n");

  EXPECT_TRUE(started.value());
}

TEST_F(JudgeTest, WrongRulesAreRefusedWithWhatThePythonSaysOfThem) {
  Judge judge = judge_by(kRules);
  auto started = front.start(judge.start());

  answer("groups[0] must be an object\nand more\n");

  const Status refused = started.value();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_EQ(refused.error().message, "reward: groups[0] must be an object");
}

TEST_F(JudgeTest, WhatWaitsMeanwhileIsJudgedTogether) {
  Judge judge = judge_by(kRules);
  start(judge);
  Reward first = begin(judge, "1");
  Reward second = begin(judge, "2");
  Reward third = begin(judge, "3");
  EXPECT_EQ(executions(), 2u) << "the first alone";

  answer("[0.5]\n");
  EXPECT_EQ(first.value(), 0.5);
  EXPECT_EQ(executions(), 3u) << "the others together";
  answer("[1, -2]\n");

  EXPECT_EQ(second.value(), 1.0);
  EXPECT_EQ(third.value(), -2.0);
}

TEST_F(JudgeTest, OneThatBreaksTheJudgeTakesNoReward) {
  Judge judge = judge_by(kRules);
  start(judge);
  Reward first = begin(judge, "1");
  Reward breaks = begin(judge, "((((((");
  Reward last = begin(judge, "3");
  answer("[1]\n");

  answer("", wire::Claim::exception);  // of both together
  answer("", wire::Claim::exception);  // of the one
  answer("[3]\n");

  EXPECT_EQ(first.value(), 1.0);
  EXPECT_EQ(breaks.value(), std::nullopt);
  EXPECT_EQ(last.value(), 3.0);
}

TEST_F(JudgeTest, AnAnswerThatDoesNotFitIsNoJudgement) {
  for (const char* wrong : {"[1, 2]\n", "{}\n", "nonsense\n", "[\"1\"]\n", ""}) {
    Judge judge = judge_by(kRules);
    start(judge);
    Reward reward = begin(judge, "1");

    answer(wrong);

    EXPECT_EQ(reward.value(), std::nullopt) << wrong;
  }
}

TEST_F(JudgeTest, AJudgeThatDiedIsReplacedForTheNext) {
  Judge judge = judge_by(kRules);
  start(judge);
  const std::uint64_t old = front.keeper.last_session();
  die();

  Reward reward = begin(judge, "1");
  ASSERT_NE(front.keeper.last_session(), old);
  answer("ok\n");
  answer("[2]\n");

  EXPECT_EQ(reward.value(), 2.0);
}

TEST_F(JudgeTest, NobodyWaitsForAJudgeThatDoesNotAnswer) {
  Judge judge = judge_by(kRules);
  start(judge);
  Reward reward = begin(judge, "1");

  front.advance(seconds(8));

  EXPECT_EQ(reward.value(), std::nullopt);
  die();  // what still waits for an answer does not outlive the judge
}

}  // namespace
}  // namespace vitrine::api::openenv
