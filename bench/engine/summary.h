// SPDX-License-Identifier: Apache-2.0
// From what was measured to the rows that are shown, with the promises they are held against.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/crowd.h"
#include "engine/report.h"
#include "engine/rounds.h"

namespace vitrine::bench {

struct Crowded {
  std::size_t count = 0;
  double create_ms = 0;  // each
  CrowdMemory memory;
  double teardown_s = 0;
  Holdings left;
};

struct Findings {
  Measured measured;
  ProcessMemory zygote;
  std::vector<Crowded> crowds;
  std::uint64_t leak_count = 0;
  std::optional<Holdings> leaks;
  long after_stop = 0;  // cgroups of a keeper that has ended
  std::vector<std::string> problems;
};

struct Noise {
  double seconds = 0;
  double others = 0;  // share of the machine that other programs had
  double stolen = 0;  // and that the machine below it had
};

Report summarize(const Findings& findings, const Noise& noise);

}  // namespace vitrine::bench
