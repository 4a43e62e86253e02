// SPDX-License-Identifier: Apache-2.0
// The command line of engine_bench.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace vitrine::bench {

struct Options {
  std::string keeper;   // the program
  std::string image;    // directory with root/
  std::string runtime;  // directory laid over it
  std::string layer;    // the same for the fork server without a jail
  std::string json;     // where the numbers are written
  std::string python;   // that has the peers' packages; empty: without them
  std::string peers;    // bench/engine/peers.py
  std::size_t rounds = 5;
  int creates = 30;      // cold and warm ones, in each round
  int executions = 300;  // in each round
  int bursts = 3;        // in each round
  std::chrono::milliseconds rate_time{1500};
  std::size_t alive = 500;  // sessions at once
  std::size_t crowd = 0;    // and once more with so many
  std::uint64_t leaks = 1000;
  std::string only;  // measure one thing, for a profiler; see --help
  bool help = false;
};

// Defaults lie beside the program. `invalid_argument` names what is wrong.
Result<Options> parse_options(int argc, char** argv);
std::string help_text();

}  // namespace vitrine::bench
