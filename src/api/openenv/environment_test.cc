// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/environment.h"

#include <gtest/gtest.h>

#include "testing/door.h"
#include "testing/temp_dir.h"

namespace vitrine::api::openenv {
namespace {

using std::chrono::milliseconds;
using vitrine::testing::FakeWorker;
using Started = vitrine::testing::Front::Started<Result<Observation>>;

// An episode on a fake keeper, with a judge that has no rules.
class EnvironmentTest : public ::testing::Test {
 protected:
  std::shared_ptr<Environment> make(Environment::Life kind = Environment::Life::connection) {
    return std::make_shared<Environment>(front.context.get_executor(), door.operations, judge,
                                         "alice", kind);
  }
  std::shared_ptr<Environment> opened() {
    auto environment = make();
    EXPECT_TRUE(front.run(environment->open()));
    return environment;
  }
  Started begin_step(Environment& environment, const std::string& code) {
    Action action;
    action.code = code;
    return front.start(environment.step(action, std::nullopt, client));
  }
  Observation step(Environment& environment, const std::string& code,
                   wire::Claim claim = wire::Claim::ok, int exit_code = 0) {
    Started started = begin_step(environment, code);
    FakeWorker& worker = front.keeper.last_worker();
    worker.finished(worker.count(wire::Type::execute), claim, exit_code);
    front.settle();
    return *started.value();
  }

  vitrine::testing::TempDir directory;
  vitrine::testing::Life life{directory.path()};
  vitrine::testing::Front& front = life.front;
  vitrine::testing::Door door{life, directory.path()};
  Judge judge{front.context.get_executor(), door.operations, ""};
  vitrine::testing::LeavingClient client{front.context.get_executor()};
};

TEST_F(EnvironmentTest, StepsShowWhatWasPrintedAndTheLastValue) {
  auto environment = opened();
  ASSERT_TRUE(front.run(environment->reset({})));

  Started started = begin_step(*environment, "print(1); 2");
  FakeWorker& worker = front.keeper.last_worker();
  worker.print("1\n");
  worker.result(1, "2");
  worker.finished(1);
  front.settle();
  const Observation seen = *started.value();

  EXPECT_EQ(seen.out, "1\n2");
  EXPECT_EQ(seen.exit_code, 0);
  EXPECT_EQ(environment->state().steps, 1u);
}

TEST_F(EnvironmentTest, TheFirstResetUsesTheSessionThatIsThere) {
  auto environment = opened();
  ASSERT_TRUE(front.run(environment->reset({})));
  EXPECT_EQ(front.keeper.count<wire::Create>(), 1u);

  step(*environment, "x = 1");
  ASSERT_TRUE(front.run(environment->reset({})));

  EXPECT_EQ(front.keeper.count<wire::Create>(), 2u);
  EXPECT_EQ(front.keeper.count<wire::End>(), 1u) << "the old one is ended";
  EXPECT_EQ(environment->state().steps, 0u);
}

TEST_F(EnvironmentTest, EveryEpisodeHasANewNameUnlessTheClientGivesOne) {
  auto environment = opened();
  ASSERT_TRUE(front.run(environment->reset({})));
  const auto first = environment->state().episode;
  step(*environment, "1");
  ASSERT_TRUE(front.run(environment->reset({})));
  EXPECT_NE(environment->state().episode, first);

  Reset named;
  named.episode = "mine";
  ASSERT_TRUE(front.run(environment->reset(named)));
  EXPECT_EQ(environment->state().episode, "mine");
}

TEST_F(EnvironmentTest, ASessionThatDiedIsReplacedAndTheStepSaysSo) {
  auto environment = opened();
  ASSERT_TRUE(front.run(environment->reset({})));
  step(*environment, "x = 1");
  front.keeper.worker_died(front.keeper.last_session(), {.cause = Cause::oom});
  front.settle();

  const Observation seen = step(*environment, "x");

  EXPECT_EQ(front.keeper.count<wire::Create>(), 2u);
  EXPECT_NE(seen.err.find("its variables are lost"), std::string::npos) << seen.err;
  EXPECT_EQ(step(*environment, "1").err, "") << "it is said once";
}

TEST_F(EnvironmentTest, AStepThatKillsItsSessionSaysSoOnce) {
  auto environment = opened();
  ASSERT_TRUE(front.run(environment->reset({})));
  Started started = begin_step(*environment, "os._exit(1)");
  front.keeper.worker_died(front.keeper.last_session(), {.cause = Cause::exited, .code = 1});
  front.settle();
  const Observation died = *started.value();
  EXPECT_NE(died.err.find("is replaced"), std::string::npos) << died.err;

  EXPECT_EQ(step(*environment, "1").err, "");
  EXPECT_EQ(environment->state().steps, 2u);
}

TEST_F(EnvironmentTest, InterruptsTheCodeOfAClientThatLeaves) {
  auto environment = opened();
  ASSERT_TRUE(front.run(environment->reset({})));
  Started started = begin_step(*environment, "while True: pass");
  front.advance(milliseconds(51));  // then the client is watched
  EXPECT_EQ(front.keeper.count<wire::Interrupt>(), 0u);

  client.leave();
  front.settle();

  EXPECT_EQ(front.keeper.count<wire::Interrupt>(), 1u);
  ASSERT_FALSE(started.value());
}

TEST_F(EnvironmentTest, TakesItsOwnPlaceWhenTheServerIsFull) {
  auto environment = opened();
  ASSERT_TRUE(front.run(environment->reset({})));
  step(*environment, "1");
  front.keeper.on<wire::Create>([this](const wire::Create&) {
    using Answer = vitrine::testing::FakeKeeper::Answer;
    if (front.keeper.count<wire::End>() == 0)
      return Answer{Error{Code::unavailable, "no place is free"}};
    return front.keeper.opened(50);
  });

  ASSERT_TRUE(front.run(environment->reset({})));

  EXPECT_EQ(front.keeper.count<wire::End>(), 1u);
  EXPECT_EQ(front.keeper.count<wire::Create>(), 3u);
}

TEST_F(EnvironmentTest, PassesOnThatThereIsNoRoom) {
  front.keeper.refuse<wire::Create>(Error{Code::unavailable, "no place is free"});
  auto environment = make();

  Status status = front.run(environment->open());

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "no place is free");
  EXPECT_FALSE(environment->has_session());
}

TEST_F(EnvironmentTest, IsHeldByItsConnectionAndNotByAPlainClient) {
  auto held = opened();
  life.pass(std::chrono::hours(3));
  EXPECT_FALSE(held->is_over());

  auto loose = make(Environment::Life::idle);
  ASSERT_TRUE(front.run(loose->open()));
  life.pass(std::chrono::hours(3));
  EXPECT_TRUE(loose->is_over());
}

TEST_F(EnvironmentTest, EndsItsSessionWhenItIsClosed) {
  auto environment = opened();

  environment->close();
  front.settle();

  EXPECT_EQ(front.keeper.count<wire::End>(), 1u);
  EXPECT_EQ(life.registry.count(), 0u);
}

TEST_F(EnvironmentTest, MakesOneSessionForRequestsThatComeTogether) {
  auto environment = make(Environment::Life::idle);
  environment->reset_later({});
  front.keeper.late<wire::Create>();
  Started first = begin_step(*environment, "a");
  Started second = begin_step(*environment, "b");
  EXPECT_EQ(front.keeper.count<wire::Create>(), 1u);

  front.keeper.release();
  front.settle();
  FakeWorker& worker = front.keeper.last_worker();
  worker.finished(1);
  front.settle();
  worker.finished(2);
  front.settle();

  EXPECT_TRUE(first.value());
  EXPECT_TRUE(second.value());
}

}  // namespace
}  // namespace vitrine::api::openenv
