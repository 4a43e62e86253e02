// SPDX-License-Identifier: Apache-2.0
#include "keeper/spread.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace vitrine::keeper {

namespace {

// Processors. What is wanted is an estimate, and every move costs those who are moved.
constexpr double kEven = 0.4;
constexpr double kError = 0.1;

std::size_t count_of(const Burner& burner, std::size_t cpus) {
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(burner.width)), 1, cpus);
}

double share_of(const Burner& burner) {
  return burner.wants / static_cast<double>(burner.cpus.size());
}

bool is_on(const Burner& burner, std::size_t cpu) {
  return std::ranges::find(burner.cpus, cpu) != burner.cpus.end();
}

class Floor {
 public:
  Floor(std::vector<Burner>& burners, std::size_t cpus) : burners_(burners), crowd_(cpus, 0.0) {}

  void count() {
    for (const Burner& burner : burners_)
      for (const std::size_t cpu : burner.cpus) crowd_[cpu] += share_of(burner);
  }

  void place(Burner& burner, std::size_t count) {
    while (burner.cpus.size() < count) {
      std::size_t best = crowd_.size();
      for (std::size_t cpu = 0; cpu < crowd_.size(); ++cpu)
        if (!is_on(burner, cpu) && (best == crowd_.size() || crowd_[cpu] < crowd_[best]))
          best = cpu;
      burner.cpus.push_back(best);
    }
    for (const std::size_t cpu : burner.cpus) crowd_[cpu] += share_of(burner);
  }

  // Moves one from the fullest processor to the emptiest. False if that would not help.
  enum class Step { evens, turns };
  bool move(Step step) {
    const auto [low, high] = std::ranges::minmax_element(crowd_);
    const auto from = static_cast<std::size_t>(high - crowd_.begin());
    const auto to = static_cast<std::size_t>(low - crowd_.begin());
    const double gap = *high - *low;
    if (gap < kEven) return false;
    Burner* most = nullptr;
    for (Burner& burner : burners_) {
      if (!is_on(burner, from) || is_on(burner, to)) continue;
      const double share = share_of(burner);
      const bool helps = share < (step == Step::evens ? gap - kError : gap + kError);
      if (helps && (most == nullptr || burner.received > most->received)) most = &burner;
    }
    if (most == nullptr) return false;
    std::ranges::replace(most->cpus, from, to);
    crowd_[from] -= share_of(*most);
    crowd_[to] += share_of(*most);
    return true;
  }

 private:
  std::vector<Burner>& burners_;
  std::vector<double> crowd_;  // per processor: how much of it is wanted
};

}  // namespace

void spread(std::vector<Burner>& burners, std::size_t cpus, Turn turn) {
  Floor floor(burners, cpus);
  for (Burner& burner : burners)
    if (burner.cpus.size() != count_of(burner, cpus)) burner.cpus.clear();
  floor.count();
  bool placed = false;
  for (Burner& burner : burners)
    if (burner.cpus.empty()) {
      floor.place(burner, count_of(burner, cpus));
      placed = true;
    }
  std::size_t moves = 0;
  while (moves < burners.size() && floor.move(Floor::Step::evens)) ++moves;
  if (turn == Turn::yes && !placed && moves == 0) (void)floor.move(Floor::Step::turns);
}

}  // namespace vitrine::keeper
