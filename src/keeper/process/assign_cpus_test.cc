// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/assign_cpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace vitrine::keeper {
namespace {

using Cpus = std::vector<std::size_t>;

std::map<std::size_t, double> wanted_by_cpu(const std::vector<BusySession>& sessions) {
  std::map<std::size_t, double> all;
  for (const BusySession& session : sessions)
    for (const std::size_t cpu : session.cpus)
      all[cpu] += session.width / static_cast<double>(session.cpus.size());
  return all;
}

TEST(Spread, GivesEachItsOwnProcessorWhileThereAreEnough) {
  std::vector<BusySession> sessions(4);
  assign_cpus(sessions, 4, Turn::yes);
  for (const auto& [cpu, wanted] : wanted_by_cpu(sessions)) EXPECT_DOUBLE_EQ(wanted, 1) << cpu;
  EXPECT_EQ(wanted_by_cpu(sessions).size(), 4u);
}

TEST(Spread, PutsAsManyOnOneProcessorAsOnAnother) {
  std::vector<BusySession> sessions(4, BusySession{.width = 0.5});
  assign_cpus(sessions, 2, Turn::yes);
  EXPECT_DOUBLE_EQ(wanted_by_cpu(sessions)[0], 1);
  EXPECT_DOUBLE_EQ(wanted_by_cpu(sessions)[1], 1);
}

TEST(Spread, LeavesAnEvenCrowdAlone) {
  std::vector<BusySession> sessions{{.cpus = {1}}, {.cpus = {0}}, {.cpus = {1}}, {.cpus = {0}}};
  for (int i = 0; i < 5; ++i) {
    sessions[0].received += 3;
    assign_cpus(sessions, 2, Turn::yes);
    EXPECT_EQ(sessions[0].cpus, Cpus{1});
    EXPECT_EQ(sessions[1].cpus, Cpus{0});
    EXPECT_EQ(sessions[2].cpus, Cpus{1});
    EXPECT_EQ(sessions[3].cpus, Cpus{0});
  }
}

TEST(Spread, FillsAProcessorThatBecameFree) {
  std::vector<BusySession> sessions{{.cpus = {0}}, {.cpus = {0}}};
  assign_cpus(sessions, 2, Turn::yes);
  EXPECT_NE(sessions[0].cpus, sessions[1].cpus);
}

// A period on processors that share fairly, with sessions that would use `demand` of one.
void live(std::vector<BusySession>& sessions, const std::vector<double>& demand) {
  std::map<std::size_t, std::vector<std::size_t>> on;
  for (std::size_t i = 0; i < sessions.size(); ++i) on[sessions[i].cpus.front()].push_back(i);
  for (auto& [cpu, guests] : on) {
    std::ranges::sort(guests, {}, [&](std::size_t i) { return demand[i]; });
    double left = 1;
    for (std::size_t at = 0; at < guests.size(); ++at) {
      const std::size_t i = guests[at];
      const double used = std::min(demand[i], left / static_cast<double>(guests.size() - at));
      left -= used;
      sessions[i].received += used;
      sessions[i].wants = std::min(sessions[i].width, 2 * used);
    }
  }
}

TEST(Spread, LetsThoseThatShareTakeTurns) {
  std::vector<BusySession> sessions(3);
  for (int period = 0; period < 300; ++period) {
    assign_cpus(sessions, 2, Turn::yes);
    live(sessions, {1, 1, 1});
  }
  const auto [least, most] = std::ranges::minmax(sessions, {}, &BusySession::received);
  EXPECT_LT(most.received, 1.05 * least.received);
}

TEST(Spread, CountsWhatIsUsedAndNotHeads) {
  std::vector<BusySession> sessions(4);
  const std::vector<double> demand{1, 0.02, 1, 0.02};
  for (int period = 0; period < 100; ++period) {
    assign_cpus(sessions, 2, Turn::yes);
    live(sessions, demand);
  }
  EXPECT_GT(sessions[0].received, 95);
  EXPECT_GT(sessions[2].received, 95);
}

TEST(Spread, LeavesNoProcessorToFewWhileOthersCrowd) {
  std::vector<BusySession> sessions(9);
  for (BusySession& session : sessions) session.cpus = {0};
  for (int period = 0; period < 50; ++period) {
    live(sessions, std::vector<double>(9, 1));
    assign_cpus(sessions, 3, Turn::yes);
  }
  std::map<std::size_t, int> heads;
  for (const BusySession& session : sessions) ++heads[session.cpus.front()];
  for (std::size_t cpu = 0; cpu < 3; ++cpu) {
    EXPECT_GE(heads[cpu], 2) << cpu;
    EXPECT_LE(heads[cpu], 4) << cpu;
  }
}

TEST(Spread, MovesNobodyForSmallDifferences) {
  std::vector<BusySession> sessions{{.width = 0.5, .wants = 0.5, .cpus = {0}},
                                    {.width = 0.5, .wants = 0.5, .cpus = {0}},
                                    {.width = 0.5, .wants = 0.5, .cpus = {1}},
                                    {.width = 0.5, .wants = 0.2, .cpus = {1}}};
  assign_cpus(sessions, 2, Turn::yes);
  EXPECT_EQ(sessions[0].cpus, Cpus{0});
  EXPECT_EQ(sessions[1].cpus, Cpus{0});
  EXPECT_EQ(sessions[2].cpus, Cpus{1});
  EXPECT_EQ(sessions[3].cpus, Cpus{1});
}

TEST(Spread, MovesNoMoreThanOneForATurn) {
  std::vector<BusySession> sessions(65);
  assign_cpus(sessions, 64, Turn::yes);
  for (int period = 0; period < 20; ++period) {
    const std::vector<BusySession> before = sessions;
    assign_cpus(sessions, 64, Turn::yes);
    int moved = 0;
    for (std::size_t i = 0; i < sessions.size(); ++i)
      moved += sessions[i].cpus != before[i].cpus ? 1 : 0;
    EXPECT_LE(moved, 1);
  }
}

TEST(Spread, GivesAWideOneAsManyProcessorsAsItsLimit) {
  std::vector<BusySession> sessions{{.width = 2.5}, {.width = 1}, {.width = 100}};
  assign_cpus(sessions, 4, Turn::yes);
  EXPECT_EQ(sessions[0].cpus.size(), 3u);
  EXPECT_EQ(sessions[1].cpus.size(), 1u);
  EXPECT_EQ(sessions[2].cpus.size(), 4u);
  for (const BusySession& session : sessions) {
    Cpus sorted = session.cpus;
    std::ranges::sort(sorted);
    EXPECT_TRUE(std::ranges::adjacent_find(sorted) == sorted.end()) << "each once";
    EXPECT_LT(sorted.back(), 4u);
  }
}

TEST(Spread, DoesNotMoveWhatWouldOnlyTurnTheGapAround) {
  std::vector<BusySession> sessions{{.width = 1, .cpus = {0}}, {.width = 0.5, .cpus = {1}}};
  assign_cpus(sessions, 2, Turn::yes);
  EXPECT_EQ(sessions[0].cpus, Cpus{0});
  EXPECT_EQ(sessions[1].cpus, Cpus{1});
}

}  // namespace
}  // namespace vitrine::keeper
