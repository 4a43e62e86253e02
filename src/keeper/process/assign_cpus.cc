// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/assign_cpus.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace vitrine::keeper {

namespace {

// Processors. What is wanted is an estimate, and every move costs those who are moved.
constexpr double kEven = 0.4;
constexpr double kError = 0.1;

std::size_t count_of(const BusySession& session, std::size_t cpus) {
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(session.width)), 1, cpus);
}

double share_of(const BusySession& session) {
  return session.wants / static_cast<double>(session.cpus.size());
}

bool is_on(const BusySession& session, std::size_t cpu) {
  return std::ranges::find(session.cpus, cpu) != session.cpus.end();
}

class Floor {
 public:
  Floor(std::vector<BusySession>& sessions, std::size_t cpus)
      : sessions_(sessions), wanted_(cpus, 0.0) {}

  void count() {
    for (const BusySession& session : sessions_)
      for (const std::size_t cpu : session.cpus) wanted_[cpu] += share_of(session);
  }

  void place(BusySession& session, std::size_t count) {
    while (session.cpus.size() < count) {
      std::size_t best = wanted_.size();
      for (std::size_t cpu = 0; cpu < wanted_.size(); ++cpu)
        if (!is_on(session, cpu) && (best == wanted_.size() || wanted_[cpu] < wanted_[best]))
          best = cpu;
      session.cpus.push_back(best);
    }
    for (const std::size_t cpu : session.cpus) wanted_[cpu] += share_of(session);
  }

  // Moves one from the fullest processor to the emptiest. False if that would not help.
  enum class Step { evens, turns };
  bool move(Step step) {
    const auto [low, high] = std::ranges::minmax_element(wanted_);
    const auto from = static_cast<std::size_t>(high - wanted_.begin());
    const auto to = static_cast<std::size_t>(low - wanted_.begin());
    const double gap = *high - *low;
    if (gap < kEven) return false;
    BusySession* most = nullptr;
    for (BusySession& session : sessions_) {
      if (!is_on(session, from) || is_on(session, to)) continue;
      const double share = share_of(session);
      const bool helps = share < (step == Step::evens ? gap - kError : gap + kError);
      if (helps && (most == nullptr || session.received > most->received)) most = &session;
    }
    if (most == nullptr) return false;
    std::ranges::replace(most->cpus, from, to);
    wanted_[from] -= share_of(*most);
    wanted_[to] += share_of(*most);
    return true;
  }

 private:
  std::vector<BusySession>& sessions_;
  std::vector<double> wanted_;  // per processor: how much of it is wanted
};

}  // namespace

void assign_cpus(std::vector<BusySession>& sessions, std::size_t cpus, Turn turn) {
  Floor floor(sessions, cpus);
  for (BusySession& session : sessions)
    if (session.cpus.size() != count_of(session, cpus)) session.cpus.clear();
  floor.count();
  bool placed = false;
  for (BusySession& session : sessions)
    if (session.cpus.empty()) {
      floor.place(session, count_of(session, cpus));
      placed = true;
    }
  std::size_t moves = 0;
  while (moves < sessions.size() && floor.move(Floor::Step::evens)) ++moves;
  if (turn == Turn::yes && !placed && moves == 0) (void)floor.move(Floor::Step::turns);
}

}  // namespace vitrine::keeper
