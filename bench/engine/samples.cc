// SPDX-License-Identifier: Apache-2.0
#include "engine/samples.h"

#include <algorithm>
#include <cmath>

namespace vitrine::bench {

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  const double at = q * last;
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double part = at - std::floor(at);
  return values[below] * (1 - part) + values[above] * part;
}

std::size_t Samples::count() const {
  std::size_t all = 0;
  for (const auto& round : rounds_) all += round.size();
  return all;
}

double Samples::p50() const {
  std::vector<double> medians;
  for (const auto& round : rounds_)
    if (!round.empty()) medians.push_back(quantile(round, 0.5));
  return quantile(std::move(medians), 0.5);
}

double Samples::p99() const {
  std::vector<double> all;
  for (const auto& round : rounds_) all.insert(all.end(), round.begin(), round.end());
  return quantile(std::move(all), 0.99);
}

double Samples::least() const {
  std::vector<double> all;
  for (const auto& round : rounds_) all.insert(all.end(), round.begin(), round.end());
  return quantile(std::move(all), 0);
}

std::optional<double> Samples::ratio_to(const Samples& other) const {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(rounds_.size(), other.rounds_.size()); ++i) {
    if (rounds_[i].empty() || other.rounds_[i].empty()) continue;
    const double base = quantile(other.rounds_[i], 0.5);
    if (base > 0) ratios.push_back(quantile(rounds_[i], 0.5) / base);
  }
  if (ratios.empty()) return std::nullopt;
  return quantile(std::move(ratios), 0.5);
}

}  // namespace vitrine::bench
