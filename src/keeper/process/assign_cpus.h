// SPDX-License-Identifier: Apache-2.0
// On which processors sessions that burn time are kept; pure.
#pragma once

#include <cstddef>
#include <vector>

namespace vitrine::keeper {

struct BusySession {
  double width = 1;               // processors it may use at once, by its limit
  double wants = 1;               // that it would use if it could; at most its width
  double received = 0;            // processor time so far
  std::vector<std::size_t> cpus;  // where it is; empty = nowhere yet
};

// Places those that are nowhere, on as many processors as their width needs, and evens out how much
// is wanted of each processor with as few moves as it takes. Where that cannot be even, one move at a
// `turn` lets those that share change places: whoever has received most goes where it is emptiest,
// and the one it leaves has more room.
enum class Turn { no, yes };
void assign_cpus(std::vector<BusySession>& sessions, std::size_t cpus, Turn turn);

}  // namespace vitrine::keeper
