// SPDX-License-Identifier: Apache-2.0
// What is measured once, on a server of its own: many sessions, many runs, a front that dies.
#pragma once

#include <vector>

#include "engine/crowd.h"
#include "server/options.h"
#include "server/server_process.h"

namespace vitrine::bench::server {

// Loaded sessions that ran one trivial cell each and now wait.
struct Alive {
  std::size_t count = 0;
  double create_ms = 0;  // each, with its first result
  CrowdMemory memory;    // KiB per session
  double front = 0;      // KiB that the front grew by, per session
};
Result<Alive> measure_alive(ServerProcess& server, std::size_t count);

// Waiting ones and working ones at once; executions are timed from the moment they were due.
struct Crowded {
  std::size_t idle = 0;
  std::size_t busy = 0;
  std::vector<double> woken;    // ms: trivial ones in sessions that waited
  std::vector<double> working;  // ms: those of the busy
  double per_second = 0;        // executions of all
  double front_rss = 0;         // KiB
  double keeper_rss = 0;        // KiB
};
Result<Crowded> measure_crowd(ServerProcess& server, const Options& options);

// What `count` create/run/destroy left: half one-shots, half sessions, eight at once.
Result<Holdings> measure_leaks(ServerProcess& server, std::size_t count);

// From the SIGKILL of the front to the right answer of an execution in a session that was there
// before, with its state.
struct Restarts {
  std::size_t count = 0;
  std::vector<double> times;       // ms; none where the session was lost
  std::vector<std::string> wrong;  // what answers said that were not right, or 410
};
Result<Restarts> measure_restarts(ServerProcess& server, int count);

}  // namespace vitrine::bench::server
