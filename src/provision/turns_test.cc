// SPDX-License-Identifier: Apache-2.0
#include "provision/turns.h"

#include <gtest/gtest.h>

namespace vitrine::provision {
namespace {

TEST(Turns, AreAsManyAsThereAre) {
  Turns turns(2);

  Turns::Ticket first = turns.ask("a");
  const Turns::Ticket second = turns.ask("a");
  const Turns::Ticket third = turns.ask("a");

  EXPECT_TRUE(first.is_called());
  EXPECT_TRUE(second.is_called());
  EXPECT_FALSE(third.is_called());
  first.leave();
  EXPECT_TRUE(third.is_called());
  EXPECT_FALSE(first.is_called());
}

TEST(Turns, OfOneOwnerComeInTheOrderOfAsking) {
  Turns turns(1);
  Turns::Ticket first = turns.ask("a");
  Turns::Ticket second = turns.ask("a");
  const Turns::Ticket third = turns.ask("a");

  first.leave();

  EXPECT_TRUE(second.is_called());
  EXPECT_FALSE(third.is_called());
}

TEST(Turns, OfOneWhoAsksForManyKeepNobodyElseWaiting) {
  Turns turns(2);
  std::vector<Turns::Ticket> many;
  for (int i = 0; i < 50; ++i) many.push_back(turns.ask("greedy"));
  const Turns::Ticket other = turns.ask("other");

  many[0].leave();

  EXPECT_TRUE(other.is_called());
  EXPECT_FALSE(many[2].is_called());
}

TEST(Turns, GoRoundAmongOwnersWhoAllWait) {
  Turns turns(1);
  std::vector<std::pair<char, Turns::Ticket>> waiting;
  Turns::Ticket now = turns.ask("x");
  for (const char owner : std::string("aaabbc"))
    waiting.emplace_back(owner, turns.ask(std::string(1, owner)));

  std::string order;
  while (!waiting.empty()) {
    now.leave();
    const auto next =
        std::ranges::find_if(waiting, [](auto& one) { return one.second.is_called(); });
    ASSERT_NE(next, waiting.end());
    order += next->first;
    now = std::move(next->second);
    waiting.erase(next);
  }

  EXPECT_EQ(order, "abcaba");
}

TEST(Turns, OfAPatientOwnerComeThoughNewOnesArriveAllTheTime) {
  Turns turns(1);
  Turns::Ticket now = turns.ask("a");
  const Turns::Ticket second = turns.ask("a");
  Turns::Ticket next = turns.ask("new 0");
  int passed = 0;
  while (!second.is_called() && passed < 10) {
    Turns::Ticket newest = turns.ask("new " + std::to_string(++passed));
    now = std::move(next);
    next = std::move(newest);
  }

  EXPECT_EQ(passed, 3) << "only the two that were there at the end of its first turn come before";
}

TEST(Turns, OfWhoGivesUpWaitingGoToTheNext) {
  Turns turns(1);
  Turns::Ticket first = turns.ask("a");
  Turns::Ticket gone = turns.ask("b");
  const Turns::Ticket last = turns.ask("c");

  gone.leave();
  EXPECT_FALSE(last.is_called());
  first.leave();

  EXPECT_TRUE(last.is_called());
}

TEST(Turns, OfWhatTwoWantComeWhenTheFirstOfThemsWould) {
  Turns turns(1);
  std::vector<Turns::Ticket> many;
  for (int i = 0; i < 50; ++i) many.push_back(turns.ask("greedy"));
  many[40].join("other");
  many[40].join("other");

  many[0].leave();

  EXPECT_TRUE(many[40].is_called());
  EXPECT_FALSE(many[1].is_called());
}

TEST(Turns, MayBeOutlivedByTickets) {
  auto turns = std::make_unique<Turns>(1);
  const Turns::Ticket first = turns->ask("a");
  const Turns::Ticket second = turns->ask("b");

  turns.reset();

  EXPECT_TRUE(first.is_called());
}

}  // namespace
}  // namespace vitrine::provision
