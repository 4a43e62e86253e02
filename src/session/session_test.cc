// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <gtest/gtest.h>

#include "testing/one_session.h"

namespace vitrine::session {
namespace {

using std::chrono::milliseconds;
using wire::Claim;

TEST_F(SessionTest, RunsAnExecutionFromItsCodeToItsEnd) {
  auto session = connected();
  auto execution = execute(*session, "print(1); 2");
  EXPECT_EQ(worker.code(0), "print(1); 2");
  EXPECT_TRUE(session->busy());

  worker.print("1\n");
  worker.result(1, "2");
  worker.finished(1);
  front.settle();

  ASSERT_TRUE(execution->is_finished());
  EXPECT_EQ(execution->record.outcome, Outcome::ok);
  EXPECT_EQ(execution->record.out, "1\n");
  EXPECT_EQ(execution->record.results[0][0].second, "2");
  EXPECT_FALSE(session->busy());
  EXPECT_EQ(ended, std::vector<std::string>{"print(1); 2"});
}

TEST_F(SessionTest, RunsOneAtATimeInTheOrderTheyCame) {
  auto session = connected();
  auto first = execute(*session, "a");
  auto second = execute(*session, "b");
  EXPECT_EQ(worker.count(wire::Type::execute), 1u);
  EXPECT_EQ(begun, std::vector<std::string>{"a"});

  worker.finished(1);
  front.settle();
  EXPECT_EQ(worker.code(1), "b");
  worker.finished(2, Claim::exception, 1);
  front.settle();

  EXPECT_EQ(first->record.outcome, Outcome::ok);
  EXPECT_EQ(second->record.outcome, Outcome::exception);
  EXPECT_EQ(second->record.exit_code, 1);
}

TEST_F(SessionTest, RefusesTheExecutionThatDoesNotFitIntoTheQueue) {
  auto session = connected();
  for (std::size_t i = 0; i < kMaxQueue + 1; ++i) ASSERT_TRUE(execute(*session, "x"));

  Result<std::shared_ptr<Execution>> refused = session->execute({.code = "one too many"});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::over_limit);
}

TEST_F(SessionTest, RunsNothingThatTheOwnersQuotaRefuses) {
  auto session = connected();
  Identity alice{.name = "alice"};
  alice.quota.executions_per_minute = 1;
  accounts.open(alice);
  accounts.execution_begins("alice");

  EXPECT_EQ(execute(*session, "x"), nullptr);
  EXPECT_EQ(worker.count(wire::Type::execute), 0u);
  EXPECT_FALSE(session->busy());
}

TEST_F(SessionTest, DropsAWaitingExecutionThatIsInterrupted) {
  auto session = connected();
  execute(*session, "a");
  auto waiting = execute(*session, "b");
  auto last = execute(*session, "c");

  session->interrupt(waiting.get());
  front.settle();

  ASSERT_TRUE(waiting->is_finished());
  EXPECT_EQ(waiting->record.outcome, Outcome::interrupted);
  EXPECT_EQ(waiting->record.exit_code, 130);
  EXPECT_EQ(front.keeper.count<wire::Interrupt>(), 0u) << "the one that runs is not meant";
  worker.finished(1);
  front.settle();
  EXPECT_EQ(worker.code(1), "c");
  EXPECT_FALSE(last->is_finished());
}

TEST_F(SessionTest, AsksTheKeeperToInterruptTheOneThatRuns) {
  auto session = connected();
  auto execution = execute(*session, "a");

  session->interrupt(execution.get());
  front.settle();
  worker.finished(1, Claim::interrupted, 130);
  front.settle();

  ASSERT_EQ(front.keeper.count<wire::Interrupt>(), 1u);
  EXPECT_EQ(front.keeper.asked<wire::Interrupt>()[0].execution, 1u);
  EXPECT_EQ(execution->record.outcome, Outcome::interrupted);
  session->interrupt(execution.get());  // it is over
  front.settle();
  EXPECT_EQ(front.keeper.count<wire::Interrupt>(), 1u);
}

TEST_F(SessionTest, PutsAnExecutionThatLastsUnderTheKeepersWatch) {
  auto session = connected({.limits = {.exec_time = milliseconds(1000)}});
  auto execution = execute(*session, "a");
  EXPECT_EQ(front.keeper.count<wire::Watch>(), 0u);

  front.advance(milliseconds(21));

  ASSERT_EQ(front.keeper.count<wire::Watch>(), 1u);
  EXPECT_EQ(front.keeper.asked<wire::Watch>()[0].milliseconds, 979u) << "what is left of it";
  worker.finished(1);
  front.settle();
  EXPECT_EQ(front.keeper.count<wire::Unwatch>(), 1u);
}

TEST_F(SessionTest, NeverTellsTheKeeperOfAnExecutionThatIsShort) {
  auto session = connected();
  execute(*session, "a");
  worker.finished(1);
  front.settle();
  front.advance(milliseconds(500));

  EXPECT_EQ(front.keeper.count<wire::Watch>(), 0u);
  EXPECT_EQ(front.keeper.count<wire::Unwatch>(), 0u);
}

TEST_F(SessionTest, BelievesTheKeeperAboutTheTimeLimitAndNotTheWorker) {
  auto session = connected();
  auto execution = execute(*session, "a");

  session->deadline_passed(1);
  worker.stack(1, "File \"x\", line 1");
  worker.finished(1, Claim::ok, 0);
  front.settle();

  EXPECT_EQ(execution->record.outcome, Outcome::timeout);
  EXPECT_EQ(execution->record.exit_code, 124);
  ASSERT_TRUE(execution->record.error);
  EXPECT_EQ(execution->record.error->traceback, "File \"x\", line 1");
}

TEST_F(SessionTest, IgnoresADeadlineOfAnotherExecution) {
  auto session = connected();
  auto execution = execute(*session, "a");

  session->deadline_passed(9);
  worker.finished(1);
  front.settle();

  EXPECT_EQ(execution->record.outcome, Outcome::ok);
}

TEST_F(SessionTest, TakesWhatADeadWorkerManagedToSay) {
  auto session = connected();
  auto execution = execute(*session, "a");
  worker.print("last words\n");
  worker.result(1, "42");
  worker.finished(1);
  worker.close();

  session->died({.cause = Cause::signalled, .code = 9});  // before the socket was read

  ASSERT_TRUE(execution->is_finished());
  EXPECT_EQ(execution->record.outcome, Outcome::ok) << "it had finished before it died";
  EXPECT_EQ(execution->record.out, "last words\n");
  EXPECT_EQ(execution->record.results.size(), 1u);
}

TEST_F(SessionTest, EndsWhatRanAndWhatWaitedWhenTheWorkerDies) {
  auto session = connected();
  auto current = execute(*session, "a");
  auto waiting = execute(*session, "b");
  worker.print("half");

  session->died({.cause = Cause::oom});
  front.settle();

  EXPECT_EQ(current->record.outcome, Outcome::oom);
  EXPECT_FALSE(current->record.state_kept);
  EXPECT_EQ(current->record.out, "half");
  EXPECT_EQ(waiting->record.outcome, Outcome::crashed);
  EXPECT_FALSE(waiting->record.state_kept);
  EXPECT_EQ(ended.size(), 2u);
  Result<std::shared_ptr<Execution>> more = session->execute({.code = "c"});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Code::unavailable);
}

TEST_F(SessionTest, HasAWorkerThatHangsUpKilledOnceTheKeeperHadTimeToSayWhy) {
  auto session = connected();
  execute(*session, "a");
  worker.close();
  front.settle();
  EXPECT_EQ(front.keeper.count<wire::Kill>(), 0u);

  front.advance(milliseconds(301));

  EXPECT_EQ(front.keeper.count<wire::Kill>(), 1u);
}

TEST_F(SessionTest, KillsNobodyWhenTheKeeperSaysWhyTheWorkerHungUp) {
  auto session = connected();
  worker.close();
  front.settle();
  session->died({.cause = Cause::exited});

  front.advance(milliseconds(301));

  EXPECT_EQ(front.keeper.count<wire::Kill>(), 0u);
}

// What a worker may say that breaks the protocol. Each is a worker's end.
struct Breach {
  const char* name;
  void (*say)(FakeWorker&);
};
class SessionBreach : public SessionTest, public ::testing::WithParamInterface<Breach> {};

TEST_P(SessionBreach, IsTheWorkersEndAndNothingAfterItCounts) {
  auto session = connected();
  auto execution = execute(*session, "a");

  GetParam().say(worker);
  worker.finished(1);
  front.settle();

  EXPECT_EQ(front.keeper.count<wire::Kill>(), 1u);
  EXPECT_FALSE(execution->is_finished()) << "the keeper's word ends it";
  ASSERT_EQ(session->notes().size(), 1u);
  EXPECT_NE(session->notes()[0].find("broke the protocol"), std::string::npos);
  session->died({.cause = Cause::killed, .code = 9});
  EXPECT_EQ(execution->record.outcome, Outcome::crashed);
}

INSTANTIATE_TEST_SUITE_P(
    All, SessionBreach,
    ::testing::Values(
        Breach{"Nonsense", [](FakeWorker& w) { w.say_nonsense("nonsense"); }},
        Breach{"UnaskedReady", [](FakeWorker& w) { w.ready(0); }},
        Breach{"AnotherExecution", [](FakeWorker& w) { w.result(5, "forged"); }},
        Breach{"AClientsMessage", [](FakeWorker& w) { w.say(wire::Type::execute, 1, "x"); }},
        Breach{"ABadResult", [](FakeWorker& w) { w.say(wire::Type::result, 1, "x"); }},
        Breach{"ABadEnd", [](FakeWorker& w) { w.say(wire::Type::finished, 1, "xyz"); }},
        Breach{"TwoErrors",
               [](FakeWorker& w) {
                 w.error(1, "ValueError");
                 w.error(1, "ValueError");
               }},
        Breach{"ANoteThatIsNoText", [](FakeWorker& w) { w.note(1, "\xff"); }},
        Breach{"AJumpInTheOrder",
               [](FakeWorker& w) {
                 w.say_nonsense(wire::encode_frame({wire::Type::note, 0, 1, 9, "x"}));
               }}),
    [](const auto& test) { return test.param.name; });

TEST_F(SessionTest, AsksForAPersonsInputAndForPackagesInTheirOwnWays) {
  auto session = connected();
  auto execution = execute(*session, "input()");
  worker.ask_packages(1, {"six"});
  worker.ask_input(1, "name? ");
  front.settle();

  EXPECT_EQ(front.run(questions.next()).packages, std::vector<std::string>{"six"});
  EventLog::Reader reader(execution->events());
  const std::optional<Event> event = front.run(reader.next());
  EXPECT_EQ(std::get<InputEvent>(*event).prompt, "name? ");

  session->answer_input(*execution, "Ada\n");
  front.settle();
  EXPECT_EQ(worker.count(wire::Type::input), 1u);
  session->answer_packages(*execution, {.added = {"six==1"}});
  front.settle();
  EXPECT_EQ(worker.count(wire::Type::package_reply), 1u);
}

TEST_F(SessionTest, DoesNotCountTheTimeOfAnInstallationAsTimeOfTheExecution) {
  auto session = connected();
  auto execution = session->execute({.code = "%pip install six", .timeout = milliseconds(1000)});
  front.advance(milliseconds(100));
  ASSERT_EQ(front.keeper.count<wire::Watch>(), 1u);

  session->begin_installing(**execution);
  front.advance(milliseconds(5000));
  EXPECT_EQ(front.keeper.count<wire::Unwatch>(), 1u);
  session->end_installing(**execution);
  front.settle();

  ASSERT_EQ(front.keeper.count<wire::Watch>(), 2u) << "at once: others would never be watched";
  EXPECT_EQ(front.keeper.asked<wire::Watch>()[1].milliseconds, 900u);
  EXPECT_EQ((*execution)->time_installing(), milliseconds(5000));
}

TEST_F(SessionTest, TellsTheStackOfWhatRunsAndNothingAboutASilentOne) {
  auto session = connected();
  EXPECT_EQ(front.run(session->stack()), "");
  execute(*session, "a");
  auto asked = front.start(session->stack());
  EXPECT_EQ(front.keeper.count<wire::AskStack>(), 1u);
  worker.stack(1, "line 3");
  front.settle();
  EXPECT_EQ(asked.value(), "line 3");

  auto silent = front.start(session->stack());
  front.advance(milliseconds(1001));
  EXPECT_EQ(silent.value(), std::nullopt);
}

TEST_F(SessionTest, LeavesOutputThatComesBetweenExecutionsToTheNext) {
  auto session = connected();
  execute(*session, "a");
  worker.finished(1);
  front.settle();
  worker.print("from a thread\n");
  front.advance(milliseconds(60));

  auto next = execute(*session, "b");
  front.advance(milliseconds(60));
  worker.finished(2);
  front.settle();

  EXPECT_EQ(next->record.out, "from a thread\n");
}

TEST_F(SessionTest, StopsReadingThePipesWhileAReaderIsFarBehind) {
  auto session = connected({.limits = {.output_bytes = 64u << 20}});
  auto execution = execute(*session, "a");
  EventLog::Reader slow(execution->events());
  const std::string block(60'000, 'x');
  std::size_t written = 0;
  for (int i = 0; i < 5; ++i) {  // the session reads these
    worker.print(block);
    written += block.size();
    front.advance(milliseconds(2));
  }

  // Beyond the backlog a worker finds its pipe full, and waits.
  EXPECT_THROW(
      {
        for (int i = 0; i < 5; ++i) {
          worker.print(block);
          front.advance(milliseconds(2));
        }
      },
      std::runtime_error);

  std::size_t seen = 0;
  while (seen < written) {
    const std::optional<Event> event = front.run(slow.next());
    seen += std::get<OutputEvent>(*event).text.size();
  }
  EXPECT_GE(seen, written);
}

// ---- after a restart of the front

}  // namespace
}  // namespace vitrine::session
