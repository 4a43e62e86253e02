// SPDX-License-Identifier: Apache-2.0
// The command line of server_bench.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "base/result.h"

namespace vitrine::bench::server {

struct Options {
  std::string program;  // vitrine
  std::string image;    // directory with root/
  std::string runtime;  // directory laid over it
  std::string layer;    // the same for the fork server without a jail
  std::string json;     // where the numbers are written; empty: nowhere
  std::string python;   // that has the peers' packages; empty: without them
  std::string peers;    // bench/engine/peers.py
  std::size_t rounds = 5;
  int creates = 30;      // in each round
  int executions = 300;  // in each round
  int bursts = 3;        // in each round
  std::chrono::milliseconds rate_time{1500};
  std::size_t alive = 500;  // sessions whose memory is measured
  std::size_t idle = 1000;  // the crowd: so many that wait
  std::size_t busy = 200;   // and so many that work
  std::chrono::milliseconds crowd_time{10'000};
  int restarts = 5;
  std::size_t leaks = 2000;
  std::set<std::string> only;  // empty = all; see --help
  bool help = false;

  bool wants(const std::string& what) const { return only.empty() || only.contains(what); }
};

// Defaults lie beside the program. `invalid_argument` names what is wrong.
Result<Options> parse_options(int argc, char** argv);
std::string help_text();

}  // namespace vitrine::bench::server
