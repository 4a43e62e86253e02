// SPDX-License-Identifier: Apache-2.0
// Everything that is repeated: in each round every measurement once, ours and theirs in turn.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/options.h"
#include "engine/programs.h"
#include "engine/samples.h"
#include "engine/throughput.h"

namespace vitrine::bench {

struct Measured {
  // Milliseconds.
  Samples raw_result, raw_cycle, raw_burst_each, raw_burst;
  Samples cold, cold_opened, burst_each, burst;
  Samples warm, warm_opened, ended, executed;
  // Per second.
  Samples raw_rate, raw_bare_rate, rate, bare_rate;
  // Milliseconds of CPU for one.
  Samples raw_cpu, raw_bare_cpu, cpu, bare_cpu;
  // Page faults of a process from its fork to its first result.
  Samples raw_faults, cold_faults, warm_faults;
  std::size_t not_warm = 0;  // creations that found no worker waiting
  std::map<std::string, Samples> peers;
  std::set<std::string> problems;  // of peers
};

// What is measured, ready to be asked.
struct Bodies {
  RawFork raw;
  RawFork raw_bare;
  KeeperProcess warm;  // as it comes, with a worker pool
  KeeperProcess cold;  // without one, but with shells for a burst
  std::optional<Peers> peers;
  ImageRoot root;
};
inline constexpr std::uint32_t kBurst = 16;

Status run_round(const Options& options, std::size_t round, Bodies& bodies, Measured& measured);

}  // namespace vitrine::bench
