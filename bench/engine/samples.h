// SPDX-License-Identifier: Apache-2.0
// Numbers of one kind, gathered in rounds.
//
// Other work on the machine comes and goes over minutes, so what counts is the median of the rounds'
// medians, and two kinds are compared round by round.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace vitrine::bench {

double quantile(std::vector<double> values, double q);  // 0 for none

class Samples {
 public:
  void add(std::size_t round, double value) {
    if (rounds_.size() <= round) rounds_.resize(round + 1);
    rounds_[round].push_back(value);
  }
  std::size_t count() const;
  double p50() const;  // median of the rounds' medians
  double p99() const;  // of all values together
  double least() const;
  // Median over the rounds of this one's median divided by the other's.
  std::optional<double> ratio_to(const Samples& other) const;

 private:
  std::vector<std::vector<double>> rounds_;
};

}  // namespace vitrine::bench
