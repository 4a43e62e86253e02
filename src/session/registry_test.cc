// SPDX-License-Identifier: Apache-2.0
#include "session/registry.h"

#include <gtest/gtest.h>

#include "testing/life.h"
#include "testing/temp_dir.h"

namespace vitrine::session {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using vitrine::testing::FakeWorker;
using vitrine::testing::Life;

const Identity kAlice{.name = "alice"};
const Identity kBob{.name = "bob"};
const Identity kRoot{.name = "root", .sees_all = true};

SessionSpec spec_of(const Identity& owner) {
  SessionSpec spec;
  spec.owner = owner.name;
  spec.limits.idle_time = minutes(10);
  return spec;
}

class RegistryTest : public ::testing::Test {
 protected:
  std::shared_ptr<Session> created(const Identity& owner = kAlice) {
    return *life.create(spec_of(owner));
  }

  vitrine::testing::TempDir directory;
  Life life{directory.path()};
  vitrine::testing::Front& front = life.front;
  Registry& registry = life.registry;
};

TEST_F(RegistryTest, MakesASessionThatItsOwnerFinds) {
  auto session = created();

  EXPECT_EQ(registry.find(session->id, kAlice), session);
  EXPECT_EQ(registry.find(session->id, kRoot), session);
  EXPECT_EQ(registry.find(session->id, kBob), nullptr);
  EXPECT_EQ(registry.find("unknown", kAlice), nullptr);
  EXPECT_EQ(registry.list(kBob).size(), 0u);
  EXPECT_EQ(registry.list(kAlice).size(), 1u);
}

TEST_F(RegistryTest, ShowsNobodyAOneShot) {
  SessionSpec spec = spec_of(kAlice);
  spec.lifetime = Lifetime::one_shot;
  auto session = life.create(spec);

  ASSERT_TRUE(session);
  EXPECT_EQ(registry.find((*session)->id, kAlice), nullptr);
  EXPECT_EQ(registry.list(kRoot).size(), 0u);
  EXPECT_EQ(registry.count(), 1u);
}

TEST_F(RegistryTest, LetsOnlyTheShellsOfOneOwnerBeRecycled) {
  registry.recycle_for(kAlice.name);
  const auto lifetime_of = [&](const Identity& owner, bool is_episode) {
    SessionSpec spec = spec_of(owner);
    spec.is_episode = is_episode;
    EXPECT_TRUE(life.create(spec));
    return front.keeper.asked<wire::Create>().back().lifetime;
  };

  EXPECT_EQ(lifetime_of(kAlice, true), Lifetime::one_shot);
  EXPECT_EQ(lifetime_of(kAlice, false), Lifetime::session);
  EXPECT_EQ(lifetime_of(kBob, true), Lifetime::session);
  EXPECT_EQ(registry.list(kAlice).size(), 2u);
}

TEST_F(RegistryTest, PassesTheKeepersRefusalOn) {
  front.keeper.refuse<wire::Create>(Error{Code::unavailable, "no place is free"});

  auto refused = life.create(spec_of(kAlice));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "no place is free");
  EXPECT_EQ(registry.count(), 0u);
  EXPECT_EQ(registry.counters().refused, 1u);
}

TEST_F(RegistryTest, AsksForASessionWithItsLayersAtOnce) {
  SessionSpec spec = spec_of(kAlice);
  spec.layers = {std::string(64, 'a')};

  ASSERT_TRUE(life.create(spec));

  ASSERT_EQ(front.keeper.count<wire::Create>(), 1u);
  EXPECT_EQ(front.keeper.asked<wire::Create>()[0].layers, spec.layers);
  EXPECT_EQ(front.keeper.count<wire::MountLayers>(), 0u);
}

TEST_F(RegistryTest, NamesALayerThatTheKeeperDoesNotHave) {
  front.keeper.refuse<wire::Create>(Error{Code::not_found, "there is no such layer"});
  SessionSpec spec = spec_of(kAlice);
  spec.layers = {std::string(64, 'a')};

  auto refused = life.create(spec);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "layer_missing");
  EXPECT_EQ(registry.count(), 0u);
}

TEST_F(RegistryTest, HasNoSessionFromAReplyThatIsWrongOrLacksDescriptors) {
  front.keeper.wrong_reply<wire::Create>();
  EXPECT_FALSE(life.create(spec_of(kAlice)));

  front.keeper.on<wire::Create>([](const wire::Create&) {
    return vitrine::testing::FakeKeeper::Answer{wire::Opened{.session = 1}};
  });
  EXPECT_FALSE(life.create(spec_of(kAlice)));

  EXPECT_EQ(registry.count(), 0u);
}

TEST_F(RegistryTest, IsToldThatTheKeeperIsGoneWhileItAsks) {
  front.keeper.late<wire::Create>();
  auto waits = front.start(registry.create(spec_of(kAlice)));
  EXPECT_FALSE(waits.is_done());

  front.keeper.die();
  front.settle();

  Result<std::shared_ptr<Session>> none = waits.value();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::unavailable);
}

TEST_F(RegistryTest, KnowsOfADeathThatCameBeforeTheSession) {
  front.keeper.late<wire::Create>();
  auto waits = front.start(registry.create(spec_of(kAlice)));
  front.keeper.worker_died(1, {.cause = Cause::oom});
  front.settle();

  front.keeper.release();
  front.settle();

  auto session = waits.value();
  ASSERT_TRUE(session);
  ASSERT_TRUE((*session)->death());
  EXPECT_EQ((*session)->death()->cause, Cause::oom);
}

TEST_F(RegistryTest, DoesNotTakeTheOldWorkersDeathForThatOfTheNewOne) {
  auto session = created();
  front.keeper.late<wire::Reset>();
  auto waits = front.start(registry.reset(session, Files::wipe));
  front.keeper.worker_died(session->keeper_id(), {.cause = Cause::killed, .code = 9});
  front.settle();

  front.keeper.release();
  front.settle();

  EXPECT_TRUE(waits.value());
  EXPECT_FALSE(session->death());
  life.execute(*session, "alive");
  EXPECT_EQ(life.worker(*session).code(0), "alive");
}

TEST_F(RegistryTest, EndsASessionAtTheKeeperAndForEverybody) {
  auto session = created();
  auto execution = life.execute(*session, "a");

  EXPECT_TRUE(front.run(registry.end(session)));

  EXPECT_EQ(front.keeper.count<wire::End>(), 1u);
  EXPECT_EQ(registry.find(session->id, kAlice), nullptr);
  EXPECT_TRUE(execution->is_finished());
  EXPECT_EQ(front.run(registry.end(session)).error().code, Code::not_found);
  EXPECT_EQ(front.run(registry.reset(session, Files::keep)).error().code, Code::not_found);
}

TEST_F(RegistryTest, EndsASessionThatTheKeeperNoLongerHas) {
  auto session = created();
  front.keeper.refuse<wire::End>(Error{Code::not_found, "no such session"});

  EXPECT_TRUE(front.run(registry.end(session)));
}

TEST_F(RegistryTest, GivesAResetSessionAnotherWorker) {
  auto session = created();
  auto lost = life.execute(*session, "a");

  EXPECT_TRUE(front.run(registry.reset(session, Files::keep)));

  EXPECT_TRUE(lost->is_finished());
  EXPECT_FALSE(lost->record.state_kept);
  EXPECT_EQ(front.keeper.asked<wire::Reset>()[0].files, Files::keep);
  auto next = life.execute(*session, "b");
  life.worker(*session).finished(1);
  front.settle();
  EXPECT_EQ(next->record.outcome, Outcome::ok);
}

TEST_F(RegistryTest, HasADeadSessionAfterAResetThatFailed) {
  auto session = created();
  front.keeper.refuse<wire::Reset>(Error{Code::timed_out, "the shell does not empty"});

  Status done = front.run(registry.reset(session, Files::keep));

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::timed_out);
  EXPECT_TRUE(session->death());
}

TEST_F(RegistryTest, IsNotFoundWhenItEndsWhileItIsReset) {
  auto session = created();
  front.keeper.late<wire::Reset>();
  auto waits = front.start(registry.reset(session, Files::wipe));

  EXPECT_TRUE(front.run(registry.end(session)));
  front.keeper.release();
  front.settle();

  EXPECT_EQ(waits.value().error().code, Code::not_found);
}

TEST_F(RegistryTest, EndsTheExecutionOfASessionThatDied) {
  auto session = created();
  auto execution = life.execute(*session, "a");

  front.keeper.worker_died(session->keeper_id(), {.cause = Cause::oom});
  front.settle();

  EXPECT_EQ(execution->record.outcome, Outcome::oom);
  EXPECT_EQ(registry.counters().deaths, 1u);
  EXPECT_EQ(registry.find(session->id, kAlice), session) << "it can be reset";
}

// ---- nobody uses it

TEST_F(RegistryTest, FreezesASessionAtHalfItsIdleTimeAndEndsItAtTheWhole) {
  auto session = created();
  life.pass(minutes(4));
  EXPECT_EQ(front.keeper.count<wire::Freeze>(), 0u);

  life.pass(minutes(1) + seconds(1));
  life.pass(seconds(1));
  ASSERT_EQ(front.keeper.count<wire::Freeze>(), 1u) << "once";
  EXPECT_TRUE(front.keeper.asked<wire::Freeze>()[0].frozen);

  life.pass(minutes(5));
  EXPECT_EQ(front.keeper.count<wire::End>(), 1u);
  EXPECT_EQ(registry.find(session->id, kAlice), nullptr);
  EXPECT_EQ(registry.counters().idle_ended, 1u);
}

TEST_F(RegistryTest, ContinuesAFrozenSessionThatIsUsedAgain) {
  auto session = created();
  life.pass(minutes(6));

  registry.wake(*session);
  front.settle();
  life.pass(minutes(4));

  ASSERT_EQ(front.keeper.count<wire::Freeze>(), 2u);
  EXPECT_FALSE(front.keeper.asked<wire::Freeze>()[1].frozen);
  EXPECT_EQ(registry.find(session->id, kAlice), session);
}

TEST_F(RegistryTest, LetsNobodyRestWhoIsBusyOrAttached) {
  auto busy = created();
  life.execute(*busy, "while True: pass");
  auto attached = created();
  const Session::Attachment held = attached->attach();

  for (int i = 0; i < 40; ++i) life.pass(minutes(1));

  EXPECT_EQ(front.keeper.count<wire::Freeze>(), 0u);
  EXPECT_EQ(registry.list(kAlice).size(), 2u);
}

// ---- quotas

TEST_F(RegistryTest, RefusesTheSessionBeyondAQuotaAndCountsOnlyThoseThatExist) {
  Identity quoted{.name = "carol"};
  quoted.quota.sessions = 1;
  life.accounts.open(quoted);
  front.keeper.refuse<wire::Create>(Error{Code::unavailable, "no place is free"});
  EXPECT_FALSE(life.create(spec_of(quoted)));
  front.keeper.on<wire::Create>([this](const wire::Create&) { return front.keeper.opened(5); });

  auto first = life.create(spec_of(quoted));
  ASSERT_TRUE(first) << "one that failed does not count";
  EXPECT_FALSE(life.create(spec_of(quoted)));
  EXPECT_TRUE(front.run(registry.end(*first)));

  EXPECT_TRUE(life.create(spec_of(quoted)));
}

TEST_F(RegistryTest, CountsASessionThatIsOnlyOnItsWay) {
  Identity quoted{.name = "carol"};
  quoted.quota.sessions = 1;
  life.accounts.open(quoted);
  front.keeper.late<wire::Create>();
  auto first = front.start(registry.create(spec_of(quoted)));

  EXPECT_FALSE(life.create(spec_of(quoted)));

  front.keeper.release();
  front.settle();
  EXPECT_TRUE(first.value());
}

// ---- after a restart of the front

class RegistryAdopts : public RegistryTest {
 protected:
  RegistryAdopts() { EXPECT_TRUE(front.run(registry.adopt("k1"))); }

  // A front after this one, which finds the sessions that `alive` names.
  std::unique_ptr<Life> restart(std::vector<wire::Listed::Entry> alive,
                                const std::string& keeper = "k1") {
    auto next = std::make_unique<Life>(directory.path());
    next->front.keeper.on<wire::List>([alive](const wire::List& list) {
      return vitrine::testing::FakeKeeper::Answer{list.after == 0 ? wire::Listed{alive, false}
                                                                  : wire::Listed{}};
    });
    EXPECT_TRUE(next->front.run(next->registry.adopt(keeper)));
    next->front.settle();
    return next;
  }
};

TEST_F(RegistryAdopts, TheSessionsThatTheKeeperStillHas) {
  auto kept = created();
  auto gone = created(kBob);

  auto next = restart({{.session = kept->keeper_id()}});

  auto found = next->registry.find(kept->id, kAlice);
  ASSERT_TRUE(found);
  EXPECT_EQ(next->front.keeper.count<wire::Attach>(), 1u);
  EXPECT_EQ(next->registry.find(gone->id, kBob), nullptr);
  EXPECT_EQ(next->worker(*found).count(wire::Type::resume), 1u);
}

TEST_F(RegistryAdopts, TheExecutionThatRan) {
  auto session = created();
  life.execute(*session, "slow()");

  auto next = restart({{.session = session->keeper_id(), .execution = 1}});
  auto found = next->registry.find(session->id, kAlice);
  EXPECT_TRUE(found->busy());
  FakeWorker& worker = next->worker(*found);
  worker.ready(1);
  worker.finished(1);
  next->front.settle();

  EXPECT_FALSE(found->busy());
  auto page = next->store.executions(session->id, 0, 10);
  ASSERT_EQ(page->rows.size(), 1u);
  EXPECT_EQ(page->rows[0].state, "finished");
}

TEST_F(RegistryAdopts, ATimeoutThatPassedMeanwhile) {
  auto session = created();
  life.execute(*session, "slow()");
  const std::uint64_t number = session->keeper_id();
  auto next = std::make_unique<Life>(directory.path());
  next->front.keeper.on<wire::List>([number](const wire::List&) {
    return vitrine::testing::FakeKeeper::Answer{wire::Listed{{{.session = number}}, false}};
  });
  next->front.keeper.on<wire::Attach>([&](const wire::Attach& attach) {
    auto answer = next->front.keeper.opened(attach.session);
    std::get<wire::Opened>(answer.reply).overdue = 1;
    return answer;
  });
  EXPECT_TRUE(next->front.run(next->registry.adopt("k1")));
  auto found = next->registry.find(session->id, kAlice);

  next->worker(*found).ready(1);
  next->worker(*found).finished(1);
  next->front.settle();

  EXPECT_EQ(next->outcomes.all, std::vector<Outcome>{Outcome::timeout});
}

TEST_F(RegistryAdopts, ADeadSessionAsDead) {
  auto session = created();
  auto next = restart({{.session = session->keeper_id(), .death = Death{.cause = Cause::oom}}});

  auto found = next->registry.find(session->id, kAlice);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->death());
  EXPECT_EQ(next->front.keeper.count<wire::Attach>(), 0u);
}

TEST_F(RegistryAdopts, NothingOfAnotherKeeperAndEndsWhatNobodyKnows) {
  auto session = created();

  auto next = restart({{.session = 77}}, "k2");

  EXPECT_EQ(next->registry.find(session->id, kAlice), nullptr);
  ASSERT_EQ(next->front.keeper.count<wire::End>(), 1u);
  EXPECT_EQ(next->front.keeper.asked<wire::End>()[0].session, 77u);
}

}  // namespace
}  // namespace vitrine::session
