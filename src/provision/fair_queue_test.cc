// SPDX-License-Identifier: Apache-2.0
#include "provision/fair_queue.h"

#include <gtest/gtest.h>

namespace vitrine::provision {
namespace {

TEST(FairQueue, AreAsManyAsThereAre) {
  FairQueue turns(2);

  FairQueue::Ticket first = turns.ask("a");
  const FairQueue::Ticket second = turns.ask("a");
  const FairQueue::Ticket third = turns.ask("a");

  EXPECT_TRUE(first.is_called());
  EXPECT_TRUE(second.is_called());
  EXPECT_FALSE(third.is_called());
  first.leave();
  EXPECT_TRUE(third.is_called());
  EXPECT_FALSE(first.is_called());
}

TEST(FairQueue, OfOneOwnerComeInTheOrderOfAsking) {
  FairQueue turns(1);
  FairQueue::Ticket first = turns.ask("a");
  FairQueue::Ticket second = turns.ask("a");
  const FairQueue::Ticket third = turns.ask("a");

  first.leave();

  EXPECT_TRUE(second.is_called());
  EXPECT_FALSE(third.is_called());
}

TEST(FairQueue, OfOneWhoAsksForManyKeepNobodyElseWaiting) {
  FairQueue turns(2);
  std::vector<FairQueue::Ticket> many;
  for (int i = 0; i < 50; ++i) many.push_back(turns.ask("greedy"));
  const FairQueue::Ticket other = turns.ask("other");

  many[0].leave();

  EXPECT_TRUE(other.is_called());
  EXPECT_FALSE(many[2].is_called());
}

TEST(FairQueue, GoRoundAmongOwnersWhoAllWait) {
  FairQueue turns(1);
  std::vector<std::pair<char, FairQueue::Ticket>> waiting;
  FairQueue::Ticket now = turns.ask("x");
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

TEST(FairQueue, OfAPatientOwnerComeThoughNewOnesArriveAllTheTime) {
  FairQueue turns(1);
  FairQueue::Ticket now = turns.ask("a");
  const FairQueue::Ticket second = turns.ask("a");
  FairQueue::Ticket next = turns.ask("new 0");
  int passed = 0;
  while (!second.is_called() && passed < 10) {
    FairQueue::Ticket newest = turns.ask("new " + std::to_string(++passed));
    now = std::move(next);
    next = std::move(newest);
  }

  EXPECT_EQ(passed, 3) << "only the two that were there at the end of its first turn come before";
}

TEST(FairQueue, OfWhoGivesUpWaitingGoToTheNext) {
  FairQueue turns(1);
  FairQueue::Ticket first = turns.ask("a");
  FairQueue::Ticket gone = turns.ask("b");
  const FairQueue::Ticket last = turns.ask("c");

  gone.leave();
  EXPECT_FALSE(last.is_called());
  first.leave();

  EXPECT_TRUE(last.is_called());
}

TEST(FairQueue, OfWhatTwoWantComeWhenTheFirstOfThemsWould) {
  FairQueue turns(1);
  std::vector<FairQueue::Ticket> many;
  for (int i = 0; i < 50; ++i) many.push_back(turns.ask("greedy"));
  many[40].join("other");
  many[40].join("other");

  many[0].leave();

  EXPECT_TRUE(many[40].is_called());
  EXPECT_FALSE(many[1].is_called());
}

TEST(FairQueue, MayBeOutlivedByTickets) {
  auto turns = std::make_unique<FairQueue>(1);
  const FairQueue::Ticket first = turns->ask("a");
  const FairQueue::Ticket second = turns->ask("b");

  turns.reset();

  EXPECT_TRUE(first.is_called());
}

}  // namespace
}  // namespace vitrine::provision
