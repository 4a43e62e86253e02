// SPDX-License-Identifier: Apache-2.0
#include "keeper/spread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace vitrine::keeper {
namespace {

using Cpus = std::vector<std::size_t>;

std::map<std::size_t, double> crowd(const std::vector<Burner>& burners) {
  std::map<std::size_t, double> all;
  for (const Burner& burner : burners)
    for (const std::size_t cpu : burner.cpus)
      all[cpu] += burner.width / static_cast<double>(burner.cpus.size());
  return all;
}

TEST(Spread, GivesEachItsOwnProcessorWhileThereAreEnough) {
  std::vector<Burner> burners(4);
  spread(burners, 4);
  for (const auto& [cpu, wanted] : crowd(burners)) EXPECT_DOUBLE_EQ(wanted, 1) << cpu;
  EXPECT_EQ(crowd(burners).size(), 4u);
}

TEST(Spread, PutsAsManyOnOneProcessorAsOnAnother) {
  std::vector<Burner> burners(4, Burner{.width = 0.5});
  spread(burners, 2);
  EXPECT_DOUBLE_EQ(crowd(burners)[0], 1);
  EXPECT_DOUBLE_EQ(crowd(burners)[1], 1);
}

TEST(Spread, LeavesAnEvenCrowdAlone) {
  std::vector<Burner> burners{{.cpus = {1}}, {.cpus = {0}}, {.cpus = {1}}, {.cpus = {0}}};
  for (int i = 0; i < 5; ++i) {
    burners[0].received += 3;
    spread(burners, 2);
    EXPECT_EQ(burners[0].cpus, Cpus{1});
    EXPECT_EQ(burners[1].cpus, Cpus{0});
    EXPECT_EQ(burners[2].cpus, Cpus{1});
    EXPECT_EQ(burners[3].cpus, Cpus{0});
  }
}

TEST(Spread, FillsAProcessorThatBecameFree) {
  std::vector<Burner> burners{{.cpus = {0}}, {.cpus = {0}}};
  spread(burners, 2);
  EXPECT_NE(burners[0].cpus, burners[1].cpus);
}

TEST(Spread, LetsThoseThatShareTakeTurns) {
  std::vector<Burner> burners(3);
  for (int period = 0; period < 300; ++period) {
    spread(burners, 2);
    const auto wanted = crowd(burners);
    for (Burner& burner : burners) burner.received += 1 / wanted.at(burner.cpus.front());
  }
  const auto [least, most] = std::ranges::minmax(burners, {}, &Burner::received);
  EXPECT_LT(most.received, 1.05 * least.received);
}

TEST(Spread, MovesNoMoreThanOneForATurn) {
  std::vector<Burner> burners(65);
  spread(burners, 64);
  for (int period = 0; period < 20; ++period) {
    const std::vector<Burner> before = burners;
    spread(burners, 64);
    int moved = 0;
    for (std::size_t i = 0; i < burners.size(); ++i)
      moved += burners[i].cpus != before[i].cpus ? 1 : 0;
    EXPECT_LE(moved, 1);
  }
}

TEST(Spread, GivesAWideOneAsManyProcessorsAsItsLimit) {
  std::vector<Burner> burners{{.width = 2.5}, {.width = 1}, {.width = 100}};
  spread(burners, 4);
  EXPECT_EQ(burners[0].cpus.size(), 3u);
  EXPECT_EQ(burners[1].cpus.size(), 1u);
  EXPECT_EQ(burners[2].cpus.size(), 4u);
  for (const Burner& burner : burners) {
    Cpus sorted = burner.cpus;
    std::ranges::sort(sorted);
    EXPECT_TRUE(std::ranges::adjacent_find(sorted) == sorted.end()) << "each once";
    EXPECT_LT(sorted.back(), 4u);
  }
}

TEST(Spread, DoesNotMoveWhatWouldOnlyTurnTheGapAround) {
  std::vector<Burner> burners{{.width = 1, .cpus = {0}}, {.width = 0.5, .cpus = {1}}};
  spread(burners, 2);
  EXPECT_EQ(burners[0].cpus, Cpus{0});
  EXPECT_EQ(burners[1].cpus, Cpus{1});
}

}  // namespace
}  // namespace vitrine::keeper
