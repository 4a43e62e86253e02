// SPDX-License-Identifier: Apache-2.0
// From what was measured to the rows that are shown, with the promises they are held against.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/report.h"
#include "engine/summary.h"
#include "server/many.h"
#include "server/rounds.h"

namespace vitrine::bench::server {

struct Findings {
  Measured measured;
  std::optional<Alive> alive;
  std::optional<Crowded> crowd;
  std::optional<Restarts> restarts;
  std::size_t leak_count = 0;
  std::optional<Holdings> leaks;
  std::vector<std::string> problems;
};

Report summarize(const Findings& findings, const Noise& noise);

}  // namespace vitrine::bench::server
