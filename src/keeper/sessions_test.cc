// SPDX-License-Identifier: Apache-2.0
#include "keeper/sessions.h"

#include <chrono>
#include <string>
#include <vector>

#include "keeper/sessions_testing.h"

namespace vitrine::keeper {
namespace {

using std::chrono::milliseconds;
using Strings = std::vector<std::string>;

// --- create and end

TEST_F(SessionsTest, GivesEachSessionANumberAndASandbox) {
  const std::uint64_t first = create();
  const std::uint64_t second = create();

  EXPECT_NE(first, second);
  EXPECT_EQ(isolation.sandboxes.size(), 2u);
  EXPECT_EQ(sessions.fds(first).socket, 100);
  EXPECT_EQ(sessions.list(0).sessions.size(), 2u);
}

TEST_F(SessionsTest, RefusesMoreThanItsCapacity) {
  for (int i = 0; i < 3; ++i) create();

  EXPECT_EQ(refusal({}), Code::unavailable);
  EXPECT_EQ(isolation.takes, 3) << "nothing may be started for it";
}

TEST_F(SessionsTest, CountsASessionThatIsBeingMade) {
  isolation.holds = true;
  for (int i = 0; i < 3; ++i) sessions.create({}, kOwner, [](Result<wire::Opened>) {});

  EXPECT_EQ(refusal({}), Code::unavailable);
}

TEST_F(SessionsTest, HasRoomAgainAfterASessionEnded) {
  const std::uint64_t first = create();
  create();
  create();
  std::optional<Status> ended;

  sessions.end(first, keep(ended));

  EXPECT_FALSE(ended) << "it answers when nothing is left";
  isolation.finish_leaving();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(*ended);
  EXPECT_NE(create(), 0u);
}

TEST_F(SessionsTest, AsksTheIsolationBeforeItStartsAnything) {
  EXPECT_EQ(refusal({.environment = "torch"}), Code::invalid_argument);
  EXPECT_EQ(isolation.takes, 0);
}

TEST_F(SessionsTest, RefusesAnIsolationThatItDoesNotHave) {
  std::optional<Result<wire::Opened>> answer;

  sessions.create({.isolation = IsolationKind::vm}, kOwner, keep(answer));

  ASSERT_TRUE(answer && !*answer);
  EXPECT_EQ(answer->error().code, Code::unsupported);
  EXPECT_NE(answer->error().message.find("vm"), std::string::npos);
  EXPECT_NE(answer->error().remedy, "");
  EXPECT_EQ(isolation.takes, 0);
}

TEST_F(SessionsTest, PutsASessionIntoTheIsolationItNames) {
  FakeIsolation machines;
  Sessions both(time.loop(), {{IsolationKind::process, &isolation}, {IsolationKind::vm, &machines}},
                3, owners);

  both.create({.isolation = IsolationKind::vm}, kOwner,
              [](const auto& opened) { EXPECT_TRUE(opened); });

  EXPECT_EQ(machines.takes, 1);
  EXPECT_EQ(isolation.takes, 0);
}

TEST_F(SessionsTest, HandsTheLayersOfACreationToTheIsolation) {
  const LayerList layers{std::string(64, 'a'), std::string(64, 'b')};

  sessions.create({.layers = layers}, kOwner, [](const auto& opened) { EXPECT_TRUE(opened); });

  EXPECT_EQ(isolation.only().spec.layers, layers);
  EXPECT_TRUE(isolation.only().mounting.empty()) << "it is there before the session is opened";
}

TEST_F(SessionsTest, HasNoSessionIfItsLayerCannotBeMounted) {
  isolation.fails = true;

  EXPECT_EQ(refusal({.layers = {std::string(64, 'a')}}), Code::unavailable);

  EXPECT_TRUE(sessions.list(0).sessions.empty());
  EXPECT_EQ(sessions.count(), 0u);
}

TEST_F(SessionsTest, KeepsTheLayersOfACreationAfterAReset) {
  const LayerList layers{std::string(64, 'a'), std::string(64, 'b')};
  std::uint64_t id = 0;
  sessions.create({.layers = layers}, kOwner, [&](const auto& opened) { id = opened->session; });

  sessions.reset({.session = id}, kOwner, [](const auto& opened) { EXPECT_TRUE(opened); });

  EXPECT_EQ(isolation.only().spec.layers, layers);
}

TEST_F(SessionsTest, NamesItsIsolationsWithWhatTheyCan) {
  const std::vector<IsolationOffer> offers = sessions.isolations();

  ASSERT_EQ(offers.size(), 1u);
  EXPECT_EQ(offers[0].isolation, IsolationKind::process);
  EXPECT_EQ(offers[0].capabilities, Capabilities{Capability::files});
}

TEST_F(SessionsTest, ForgetsASessionThatCouldNotBeMade) {
  isolation.fails = true;

  EXPECT_EQ(refusal({}), Code::unavailable);
  EXPECT_EQ(sessions.count(), 0u);
}

TEST_F(SessionsTest, EndsASessionThatIsBeingMadeAsSoonAsItIs) {
  isolation.holds = true;
  std::optional<Result<wire::Opened>> opened;
  std::optional<Status> ended;
  sessions.create({}, kOwner, keep(opened));

  sessions.end(1, keep(ended));
  EXPECT_FALSE(ended);
  isolation.deliver();
  isolation.finish_leaving();

  ASSERT_TRUE(opened && ended);
  EXPECT_FALSE(*opened);
  EXPECT_TRUE(*ended);
  EXPECT_TRUE(isolation.sandboxes.empty());
  EXPECT_EQ(sessions.count(), 0u);
}

TEST_F(SessionsTest, EndsASessionBeingMadeAlsoIfThatFails) {
  isolation.holds = isolation.fails = true;
  std::optional<Result<wire::Opened>> opened;
  std::optional<Status> ended;
  sessions.create({}, kOwner, keep(opened));
  sessions.end(1, keep(ended));

  isolation.deliver();

  ASSERT_TRUE(opened && ended);
  EXPECT_TRUE(*ended);
}

TEST_F(SessionsTest, RefusesToEndTwiceWhatIsBeingMade) {
  isolation.holds = true;
  std::optional<Status> first;
  std::optional<Status> second;
  sessions.create({}, kOwner, [](Result<wire::Opened>) {});

  sessions.end(1, keep(first));
  sessions.end(1, keep(second));

  ASSERT_TRUE(second);
  EXPECT_EQ(second->error().code, Code::conflict);
}

TEST_F(SessionsTest, KeepsNoSessionWhoseOwnerLeftBeforeItWasTold) {
  isolation.holds = true;
  sessions.create({}, kOwner, [](Result<wire::Opened>) {});
  owners.gone.insert(kOwner);

  isolation.deliver();

  EXPECT_TRUE(isolation.sandboxes.empty());
  EXPECT_EQ(sessions.count(), 0u);
}

TEST_F(SessionsTest, KeepsASessionWhoseOwnerLeftDuringAReset) {
  const std::uint64_t id = create();
  isolation.holds = true;
  sessions.reset({.session = id}, kOwner, [](Result<wire::Opened>) {});
  owners.gone.insert(kOwner);

  isolation.deliver();

  EXPECT_EQ(isolation.sandboxes.size(), 1u);
}

TEST_F(SessionsTest, EndsEverythingWhenItStops) {
  create();
  isolation.holds = true;
  std::optional<Result<wire::Opened>> late;
  sessions.create({}, kOwner, keep(late));

  sessions.stop();
  isolation.deliver();

  EXPECT_TRUE(isolation.sandboxes.empty());
  ASSERT_TRUE(late);
  EXPECT_FALSE(*late);
  EXPECT_EQ(refusal({}), Code::unavailable);
}

// --- attach

TEST_F(SessionsTest, TellsTheNewOwnerAfterAnAttach) {
  const std::uint64_t id = create();

  ASSERT_TRUE(sessions.attach(id, 6));
  isolation.only().observer.died(kExited);

  const auto died = owners.of<wire::Died>();
  ASSERT_EQ(died.size(), 1u);
  EXPECT_EQ(died[0].first, 6u);
}

TEST_F(SessionsTest, RefusesToAttachADeadSession) {
  const std::uint64_t id = create();
  isolation.only().observer.died(kExited);

  EXPECT_FALSE(sessions.attach(id, 6));
  EXPECT_FALSE(sessions.attach(99, 6));
}

TEST_F(SessionsTest, TellsWhoAttachesOfAnOverdueExecution) {
  const std::uint64_t id = create();
  ASSERT_TRUE(sessions.watch({.session = id, .execution = 9, .milliseconds = 100}));
  time.advance(milliseconds(200));

  const Result<wire::Opened> opened = sessions.attach(id, 6);

  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->overdue, 9u);
}

// --- freeze, packages, the rest

TEST_F(SessionsTest, FreezesAndThaws) {
  const std::uint64_t id = create();
  std::optional<Status> frozen;
  std::optional<Status> thawed;

  sessions.freeze({.session = id, .frozen = true}, keep(frozen));
  sessions.freeze({.session = id, .frozen = false}, keep(thawed));

  EXPECT_TRUE(frozen && *frozen && thawed && *thawed);
  EXPECT_EQ(isolation.only().calls, (Strings{"freeze", "thaw"}));
}

TEST_F(SessionsTest, SaysThatAnIsolationCannotFreeze) {
  const std::uint64_t id = create();
  isolation.only().can_freeze = false;
  std::optional<Status> frozen;

  sessions.freeze({.session = id, .frozen = true}, keep(frozen));

  ASSERT_TRUE(frozen);
  EXPECT_EQ(frozen->error().code, Code::unsupported);
}

TEST_F(SessionsTest, KeepsASandboxUntilItsPackagesAreMounted) {
  const std::uint64_t id = create();
  std::optional<Status> added;
  std::optional<Status> ended;
  std::optional<Result<wire::Opened>> reset;
  sessions.mount_layers({.session = id, .layers = {"abc"}}, keep(added));

  sessions.reset({.session = id}, kOwner, keep(reset));
  sessions.end(id, keep(ended));
  EXPECT_EQ(isolation.sandboxes.size(), 1u);
  const Done mounted = isolation.only().mounting.front().second;
  mounted(ok());
  isolation.finish_leaving();

  ASSERT_TRUE(reset && added && ended);
  EXPECT_EQ(reset->error().code, Code::conflict);
  EXPECT_TRUE(*added);
  EXPECT_TRUE(*ended);
  EXPECT_TRUE(isolation.sandboxes.empty());
}

TEST_F(SessionsTest, HasNoDisplayWhereTheIsolationHasNone) {
  const std::uint64_t id = create();
  std::optional<Code> refused;

  sessions.open_display({.session = id, .start = true}, [&](Result<OpenedDisplay> opened) {
    if (!opened) refused = opened.error().code;
  });

  EXPECT_EQ(refused, Code::unavailable);
}

TEST_F(SessionsTest, ListsInPagesBehindANumber) {
  create();
  const std::uint64_t second = create();

  EXPECT_EQ(sessions.list(1).sessions.size(), 1u);
  EXPECT_EQ(sessions.list(1).sessions[0].session, second);
  EXPECT_TRUE(sessions.list(second).sessions.empty());
}

}  // namespace
}  // namespace vitrine::keeper
