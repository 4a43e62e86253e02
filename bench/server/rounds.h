// SPDX-License-Identifier: Apache-2.0
// Everything that is repeated: in each round every measurement once, ours and theirs in turn.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/programs.h"
#include "engine/raw_fork.h"
#include "engine/samples.h"
#include "server/null_server.h"
#include "server/options.h"
#include "server/server_process.h"

namespace vitrine::bench::server {

struct Measured {
  // Milliseconds.
  Samples null_pair;                          // two null calls after a pause, as a create comes
  Samples created, create, first_run, ended;  // both together, and each
  Samples over_null_pair;                     // a round's median above that of the pairs
  Samples null_call, health, executed, over_null;
  Samples raw_burst, raw_burst_each, burst, burst_each;
  Samples rate_each, bare_rate_each;
  // Per second.
  Samples raw_rate, raw_bare_rate, rate, bare_rate;
  std::map<std::string, Samples> peers;
  std::set<std::string> problems;  // of peers
};

// What is measured, ready to be asked. What is not wanted is not there.
struct Bodies {
  std::optional<NullServer> null;
  std::optional<ServerProcess> warm;  // as it comes
  std::optional<ServerProcess> cold;  // no worker waits
  std::optional<RawFork> raw;
  std::optional<RawFork> raw_bare;
  std::optional<Peers> peers;
  ImageRoot root;
};
inline constexpr std::uint32_t kBurst = 16;

Status run_round(const Options& options, std::size_t round, Bodies& bodies, Measured& measured);

}  // namespace vitrine::bench::server
