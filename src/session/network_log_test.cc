// SPDX-License-Identifier: Apache-2.0
#include "session/network_log.h"

#include <gtest/gtest.h>

#include <array>

namespace vitrine::session {
namespace {

using Counters = std::array<wire::EgressCounter, wire::kEgressCounters>;

Counters counters(wire::EgressCounter one, std::uint64_t unsaid = 0) {
  Counters all{};
  all[3] = one;
  all.back().sent = unsaid;
  return all;
}

wire::Decided decided(std::uint64_t connection, NetworkDecision decision) {
  return {.connection = connection,
          .slot = 0,
          .entry = {.host = "example.org", .port = 443, .decision = decision, .reason = "r"}};
}

TEST(NetworkLog, TellsADecisionOnceWithItsBytes) {
  NetworkLog log;
  log.add(decided(1, NetworkDecision::allowed));
  log.add(wire::Closed{1, 10, 20});

  const NetworkLog::Report first = log.take();
  const NetworkLog::Report second = log.take();

  ASSERT_EQ(first.entries.size(), 1u);
  EXPECT_EQ(first.entries[0].sent, 10u);
  EXPECT_EQ(first.entries[0].received, 20u);
  EXPECT_TRUE(second.entries.empty());
}

TEST(NetworkLog, TellsAConnectionThatLivesOnAgainWithWhatWasAdded) {
  NetworkLog log;
  log.add(decided(1, NetworkDecision::allowed));
  const Counters then = counters({1, 5, 7});
  log.count(then);
  EXPECT_EQ(log.take().entries.at(0).sent, 5u);

  const Counters now = counters({1, 8, 7});
  log.count(now);
  const NetworkLog::Report report = log.take();

  ASSERT_EQ(report.entries.size(), 1u);
  EXPECT_EQ(report.entries[0].sent, 3u);
  EXPECT_EQ(report.entries[0].received, 0u);
  EXPECT_TRUE(log.take().entries.empty());
}

TEST(NetworkLog, KeepsAHundredEntriesAndCountsTheRest) {
  NetworkLog log;
  for (std::uint64_t i = 1; i <= 5000; ++i) log.add(decided(i, NetworkDecision::refused));

  const NetworkLog::Report report = log.take();

  EXPECT_EQ(report.entries.size(), kMaxNetworkEntries);
  EXPECT_EQ(report.omitted, 4900u);
}

TEST(NetworkLog, TakesDecisionsInAnyOrderOfConnections) {
  NetworkLog log;
  log.add(decided(2, NetworkDecision::refused));
  log.add(decided(1, NetworkDecision::refused));

  EXPECT_EQ(log.take().entries.size(), 2u);
}

TEST(NetworkLog, CountsWhatCameTooFastOnce) {
  NetworkLog log;
  log.count(counters({}, 7));
  log.count(counters({}, 7));
  EXPECT_EQ(log.take().omitted, 7u);

  log.count(counters({}, 9));
  EXPECT_EQ(log.take().omitted, 2u);
}

TEST(NetworkLog, BelievesNoCounterThatShrinksAndNoNumberTwice) {
  NetworkLog log;
  log.add(decided(2, NetworkDecision::allowed));
  log.add(decided(2, NetworkDecision::allowed));
  const Counters much = counters({2, 50, 50});
  const Counters less = counters({2, 1, 1});
  log.count(much);
  (void)log.take();
  log.count(less);
  log.add(wire::Closed{2, 0, 0});

  EXPECT_TRUE(log.take().entries.empty());
}

TEST(NetworkLog, NotesARestartAndStartsCountingAnew) {
  NetworkLog log;
  log.add(wire::ProxyStarted{0});
  log.add(decided(7, NetworkDecision::allowed));
  log.add(wire::ProxyStarted{1});
  log.add(decided(1, NetworkDecision::refused));

  const NetworkLog::Report report = log.take();

  EXPECT_EQ(report.entries.size(), 1u);
  EXPECT_EQ(report.omitted, 1u);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_TRUE(report.notes[0].starts_with("network_proxy_restarted"));
}

}  // namespace
}  // namespace vitrine::session
