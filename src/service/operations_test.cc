// SPDX-License-Identifier: Apache-2.0
#include "service/operations.h"

#include <gtest/gtest.h>

#include "testing/door.h"
#include "testing/temp_dir.h"

namespace vitrine::service {
namespace {

using vitrine::testing::FakeWorker;

const Identity kAlice{.name = "alice"};
const Identity kBob{.name = "bob"};

SessionRequest request_of(const Identity& owner) {
  SessionRequest request;
  request.spec.owner = owner.name;
  return request;
}

class OperationsTest : public ::testing::Test {
 protected:
  using Run = service::Run;  // and not the test's

  SessionRef created() { return *front.run(operations.create(request_of(kAlice), client)); }
  Run started(const SessionRef& session, ExecRequest request) {
    Result<Run> run = operations.execute(session, std::move(request));
    front.settle();
    return std::move(*run);
  }
  FakeWorker& worker() { return front.keeper.last_worker(); }

  vitrine::testing::TempDir directory;
  vitrine::testing::Life life{directory.path()};
  vitrine::testing::Front& front = life.front;
  vitrine::testing::Door door{life, directory.path()};
  Operations& operations = door.operations;
  vitrine::testing::LeavingClient client{front.context.get_executor()};
};

TEST_F(OperationsTest, MakesASessionForItsOwnerAlone) {
  const SessionRef session = created();

  EXPECT_EQ(operations.find(kAlice, session->id), session);
  EXPECT_EQ(operations.find(kBob, session->id), nullptr);
  EXPECT_EQ(operations.list(kAlice).size(), 1u);
  EXPECT_EQ(operations.count(kBob), 0u);
}

TEST_F(OperationsTest, RefusesAnEnvironmentThatDoesNotExistBeforeAnythingStarts) {
  SessionRequest request = request_of(kAlice);
  request.spec.environment = "science";

  const Result<SessionRef> made = front.run(operations.create(request, client));

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().reason, "unknown_environment");
  EXPECT_EQ(front.keeper.count<wire::Create>(), 0u);
}

TEST_F(OperationsTest, RefusesAnIsolationThatTheServerDoesNotHave) {
  SessionRequest request = request_of(kAlice);
  request.spec.isolation = IsolationKind::vm;

  const Result<SessionRef> made = front.run(operations.create(request, client));

  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().reason, "isolation_unavailable");
  EXPECT_FALSE(made.error().remedy.empty());
  EXPECT_EQ(front.keeper.count<wire::Create>(), 0u);
}

TEST_F(OperationsTest, RefusesWhatAnIsolationCannotDoBeforeAnythingStarts) {
  life.registry.offer(
      {.isolations = {{IsolationKind::wasm, {Capability::files}}}, .environments = {}});
  SessionRequest with_packages = request_of(kAlice);
  with_packages.spec.isolation = IsolationKind::wasm;
  with_packages.packages.packages = {"six"};
  SessionRequest with_network = request_of(kAlice);
  with_network.spec.isolation = IsolationKind::wasm;
  with_network.spec.network.emplace();

  for (const SessionRequest& request : {with_packages, with_network}) {
    const Result<SessionRef> made = front.run(operations.create(request, client));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().reason, "unsupported_by_isolation");
  }
  EXPECT_EQ(front.keeper.count<wire::Create>(), 0u);
}

TEST_F(OperationsTest, SaysWhatTheOperatorCanDoWhereNoSessionHasANetwork) {
  life.registry.offer(
      {.isolations = {{IsolationKind::process, {Capability::packages}}}, .environments = {}});
  SessionRequest request = request_of(kAlice);
  request.spec.network.emplace();

  const Result<SessionRef> made = front.run(operations.create(request, client));

  ASSERT_FALSE(made);
  EXPECT_NE(made.error().remedy.find("--egress on"), std::string::npos);
}

TEST_F(OperationsTest, FollowsAnExecutionToItsEnd) {
  Run run = started(created(), {.code = "6 * 7"});
  auto finished = front.start(run.finished(client));
  worker().result(1, "42");
  worker().finished(1);
  front.advance(std::chrono::milliseconds(1));

  EXPECT_TRUE(finished.value());
  EXPECT_EQ(run.record().outcome, Outcome::ok);
  EXPECT_EQ(front.run(run.value()), "42");
}

TEST_F(OperationsTest, InterruptsTheCodeOfAClientThatLeft) {
  Run run = started(created(), {.code = "while True: pass"});
  auto finished = front.start(run.finished(client));
  front.advance(std::chrono::seconds(1));
  ASSERT_EQ(front.keeper.count<wire::Interrupt>(), 0u);

  client.leave();
  front.settle();

  EXPECT_FALSE(finished.value());
  EXPECT_TRUE(run.has_left());
  EXPECT_EQ(front.keeper.count<wire::Interrupt>(), 1u);
}

TEST_F(OperationsTest, LetsCodeGoOnThatIsToSurviveItsClient) {
  Run run = started(created(), {.code = "train()", .on_disconnect = OnDisconnect::keep_going});
  auto finished = front.start(run.finished(client));
  front.advance(std::chrono::seconds(1));

  client.leave();
  front.settle();
  EXPECT_FALSE(finished.is_done());
  worker().finished(1);
  front.settle();

  EXPECT_TRUE(finished.value());
  EXPECT_EQ(front.keeper.count<wire::Interrupt>(), 0u);
}

TEST_F(OperationsTest, GivesAClientTheEventsUntilItLeaves) {
  Run run = started(created(), {.code = "print(1)"});
  worker().note(1, "a note");
  auto first = front.start(run.next(client));
  const std::optional<session::Event> event = first.value();
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<session::NoteEvent>(*event).text, "a note");

  auto second = front.start(run.next(client));
  client.leave();
  front.settle();

  EXPECT_FALSE(second.value());
  EXPECT_EQ(front.keeper.count<wire::Interrupt>(), 1u);
}

TEST_F(OperationsTest, EndsAOneShotThatDiedBeforeItCouldBegin) {
  const SessionRef before = created();
  front.keeper.tell(wire::Died{before->keeper_id() + 1, {.cause = Cause::killed, .code = 9}});
  front.settle();

  const Result<Run> run = front.run(operations.run(request_of(kAlice), {.code = "1"}, client));

  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().reason, "session_dead");
  EXPECT_EQ(front.keeper.count<wire::End>(), 1u);
}

TEST_F(OperationsTest, SaysWhyADeadSessionRunsNothing) {
  const SessionRef session = created();
  front.keeper.tell(wire::Died{session->keeper_id(), {.cause = Cause::signalled, .code = 11}});
  front.settle();

  const Result<Run> run = operations.execute(session, {.code = "1"});

  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().reason, "session_dead");
  EXPECT_NE(run.error().message.find("signal 11"), std::string::npos);
}

TEST_F(OperationsTest, KnowsNothingOfASessionThatWasEnded) {
  const SessionRef session = created();
  ASSERT_TRUE(front.run(operations.end(session)));

  const Status again = front.run(operations.end(session));
  const Status reset = front.run(operations.reset(session, Files::wipe));

  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().reason, "not_found");
  ASSERT_FALSE(reset);
  EXPECT_EQ(reset.error().reason, "not_found");
}

// What a feed tells, a word each.
struct WordOf {
  std::string operator()(const session::ExecutionBegun& it) const { return "begun " + it.code; }
  std::string operator()(const session::ExecutionEnded& it) const {
    return "ended " + std::string(to_string(it.outcome));
  }
  std::string operator()(const session::SessionDied&) const { return "died"; }
  std::string operator()(const session::SessionReset&) const { return "reset"; }
  std::string operator()(const session::FeedGap&) const { return "gap"; }
  std::string operator()(const session::Event& it) const {
    if (const auto* output = std::get_if<session::OutputEvent>(&it)) return output->text;
    return std::holds_alternative<session::FinishedEvent>(it) ? "finished" : "other";
  }
};

Task<std::vector<std::string>> words_until_the_end(session::Feed* feed) {
  std::vector<std::string> words;
  while (std::optional<session::FeedEvent> event = co_await feed->next())
    words.push_back(std::visit(WordOf{}, event->item));
  co_return words;
}

TEST_F(OperationsTest, FeedsTheEventsOfAllExecutionsUntilTheSessionEnds) {
  const SessionRef session = created();
  session::Feed feed = operations.subscribe(session);
  session::Feed second = operations.subscribe(session);
  auto words = front.start(words_until_the_end(&feed));
  Run first = started(session, {.code = "a"});
  worker().print("out");
  front.settle();
  worker().finished(1);
  front.settle();
  ASSERT_TRUE(front.run(operations.reset(session, Files::wipe)));
  Run next = started(session, {.code = "b"});
  front.keeper.tell(wire::Died{session->keeper_id(), {.cause = Cause::signalled, .code = 9}});
  front.settle();
  ASSERT_TRUE(front.run(operations.end(session)));

  const std::vector<std::string> expected = {"begun a", "out",           "ended ok", "reset",
                                             "begun b", "ended crashed", "died"};
  EXPECT_EQ(words.value(), expected);
  EXPECT_EQ(front.run(words_until_the_end(&second)), expected);
}

}  // namespace
}  // namespace vitrine::service
