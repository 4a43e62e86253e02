// SPDX-License-Identifier: Apache-2.0
// The table that people read and the JSON that programs read: the same rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/samples.h"

namespace vitrine::bench {

enum class Verdict { none, ok, missed };

struct Row {
  std::string metric;
  std::string unit;
  double p50 = 0;
  std::optional<double> p99 = {};
  std::optional<double> best = {};  // what a quiet moment gave
  std::size_t count = 1;
  std::string baseline = {};
  std::optional<double> baseline_value = {};
  std::optional<double> ratio = {};
  std::string target = {};
  Verdict verdict = Verdict::none;
};

Row row_of(std::string metric, std::string unit, const Samples& samples);
// With the baseline's value and the ratio to it, round by round.
Row row_of(std::string metric, std::string unit, const Samples& samples, std::string baseline,
           const Samples& beside);
Row with_target(Row row, std::string target, bool reached);

struct Report {
  std::vector<Row> rows;
  std::vector<std::pair<std::string, std::string>> conditions;  // of the run
  std::vector<std::string> notes;

  std::string table() const;
  std::string json() const;
};

}  // namespace vitrine::bench
