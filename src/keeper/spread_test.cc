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
  spread(burners, 4, Turn::yes);
  for (const auto& [cpu, wanted] : crowd(burners)) EXPECT_DOUBLE_EQ(wanted, 1) << cpu;
  EXPECT_EQ(crowd(burners).size(), 4u);
}

TEST(Spread, PutsAsManyOnOneProcessorAsOnAnother) {
  std::vector<Burner> burners(4, Burner{.width = 0.5});
  spread(burners, 2, Turn::yes);
  EXPECT_DOUBLE_EQ(crowd(burners)[0], 1);
  EXPECT_DOUBLE_EQ(crowd(burners)[1], 1);
}

TEST(Spread, LeavesAnEvenCrowdAlone) {
  std::vector<Burner> burners{{.cpus = {1}}, {.cpus = {0}}, {.cpus = {1}}, {.cpus = {0}}};
  for (int i = 0; i < 5; ++i) {
    burners[0].received += 3;
    spread(burners, 2, Turn::yes);
    EXPECT_EQ(burners[0].cpus, Cpus{1});
    EXPECT_EQ(burners[1].cpus, Cpus{0});
    EXPECT_EQ(burners[2].cpus, Cpus{1});
    EXPECT_EQ(burners[3].cpus, Cpus{0});
  }
}

TEST(Spread, FillsAProcessorThatBecameFree) {
  std::vector<Burner> burners{{.cpus = {0}}, {.cpus = {0}}};
  spread(burners, 2, Turn::yes);
  EXPECT_NE(burners[0].cpus, burners[1].cpus);
}

// A period on processors that share fairly, with burners that would use `demand` of one.
void live(std::vector<Burner>& burners, const std::vector<double>& demand) {
  std::map<std::size_t, std::vector<std::size_t>> on;
  for (std::size_t i = 0; i < burners.size(); ++i) on[burners[i].cpus.front()].push_back(i);
  for (auto& [cpu, guests] : on) {
    std::ranges::sort(guests, {}, [&](std::size_t i) { return demand[i]; });
    double left = 1;
    for (std::size_t at = 0; at < guests.size(); ++at) {
      const std::size_t i = guests[at];
      const double used = std::min(demand[i], left / static_cast<double>(guests.size() - at));
      left -= used;
      burners[i].received += used;
      burners[i].wants = std::min(burners[i].width, 2 * used);
    }
  }
}

TEST(Spread, LetsThoseThatShareTakeTurns) {
  std::vector<Burner> burners(3);
  for (int period = 0; period < 300; ++period) {
    spread(burners, 2, Turn::yes);
    live(burners, {1, 1, 1});
  }
  const auto [least, most] = std::ranges::minmax(burners, {}, &Burner::received);
  EXPECT_LT(most.received, 1.05 * least.received);
}

TEST(Spread, CountsWhatIsUsedAndNotHeads) {
  std::vector<Burner> burners(4);
  const std::vector<double> demand{1, 0.02, 1, 0.02};
  for (int period = 0; period < 100; ++period) {
    spread(burners, 2, Turn::yes);
    live(burners, demand);
  }
  EXPECT_GT(burners[0].received, 95);
  EXPECT_GT(burners[2].received, 95);
}

TEST(Spread, LeavesNoProcessorToFewWhileOthersCrowd) {
  std::vector<Burner> burners(9);
  for (Burner& burner : burners) burner.cpus = {0};
  for (int period = 0; period < 50; ++period) {
    live(burners, std::vector<double>(9, 1));
    spread(burners, 3, Turn::yes);
  }
  std::map<std::size_t, int> heads;
  for (const Burner& burner : burners) ++heads[burner.cpus.front()];
  for (std::size_t cpu = 0; cpu < 3; ++cpu) {
    EXPECT_GE(heads[cpu], 2) << cpu;
    EXPECT_LE(heads[cpu], 4) << cpu;
  }
}

TEST(Spread, MovesNobodyForSmallDifferences) {
  std::vector<Burner> burners{{.width = 0.5, .wants = 0.5, .cpus = {0}},
                              {.width = 0.5, .wants = 0.5, .cpus = {0}},
                              {.width = 0.5, .wants = 0.5, .cpus = {1}},
                              {.width = 0.5, .wants = 0.2, .cpus = {1}}};
  spread(burners, 2, Turn::yes);
  EXPECT_EQ(burners[0].cpus, Cpus{0});
  EXPECT_EQ(burners[1].cpus, Cpus{0});
  EXPECT_EQ(burners[2].cpus, Cpus{1});
  EXPECT_EQ(burners[3].cpus, Cpus{1});
}

TEST(Spread, MovesNoMoreThanOneForATurn) {
  std::vector<Burner> burners(65);
  spread(burners, 64, Turn::yes);
  for (int period = 0; period < 20; ++period) {
    const std::vector<Burner> before = burners;
    spread(burners, 64, Turn::yes);
    int moved = 0;
    for (std::size_t i = 0; i < burners.size(); ++i)
      moved += burners[i].cpus != before[i].cpus ? 1 : 0;
    EXPECT_LE(moved, 1);
  }
}

TEST(Spread, GivesAWideOneAsManyProcessorsAsItsLimit) {
  std::vector<Burner> burners{{.width = 2.5}, {.width = 1}, {.width = 100}};
  spread(burners, 4, Turn::yes);
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
  spread(burners, 2, Turn::yes);
  EXPECT_EQ(burners[0].cpus, Cpus{0});
  EXPECT_EQ(burners[1].cpus, Cpus{1});
}

}  // namespace
}  // namespace vitrine::keeper
