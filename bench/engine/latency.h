// SPDX-License-Identifier: Apache-2.0
// How long one takes: milliseconds from the request to the first whole answer, nothing else running.
#pragma once

#include <string>
#include <vector>

#include "engine/keeper_process.h"
#include "engine/raw_fork.h"

namespace vitrine::bench {

// Code as a session runs it, and the same for the raw fork, which wants its value in `_`.
struct Cell {
  std::string session;
  std::string raw;
  std::string expected;
};
extern const Cell kTrivial;
extern const Cell kNumpy;
extern const Cell kBare;

// Two figures of one fork: to the result, and to the moment the child is reaped.
struct RawTimes {
  double result = 0;
  double cycle = 0;
};
Result<RawTimes> time_raw_fork(RawFork& server, const Cell& cell);
// All at once: the time of each to its result, and of the whole.
struct BurstTimes {
  std::vector<double> each;
  double whole = 0;
};
Result<BurstTimes> time_raw_burst(RawFork& server, const Cell& cell, std::uint32_t count);

struct CreateTimes {
  double opened = 0;  // the socket is ours
  double result = 0;  // the first execution is finished
  double ended = 0;   // the request to end it was answered: nothing is left
  Source source = Source::warm;
};
Result<CreateTimes> time_create(KeeperProcess& keeper, const wire::Create& request,
                                const Cell& cell);
Result<BurstTimes> time_burst(KeeperProcess& keeper, const wire::Create& request, const Cell& cell,
                              std::uint32_t count);

// One more execution in a session that has run some.
Result<std::vector<double>> time_executions(KeeperProcess& keeper, const Cell& cell, int count);

// The text of the first result that has one.
Result<std::string> plain_result(const std::vector<wire::Message>& messages);

double milliseconds_since(control::Clock::time_point start);

}  // namespace vitrine::bench
