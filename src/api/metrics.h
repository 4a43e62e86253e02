// SPDX-License-Identifier: Apache-2.0
// What the server has done and is doing, in Prometheus' text format. docs/operations.md explains each
// name and what to do when it looks wrong.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "api/server.h"
#include "model/keeper_info.h"
#include "session/recordings.h"
#include "session/registry.h"

namespace vitrine::api {

class Histogram {
 public:
  void add(double seconds);
  std::string text(const std::string& name, const std::string& labels) const;

 private:
  static constexpr std::array<double, 14> kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                  0.1,    0.25,  0.5,    1,     2.5,  10,    60};
  std::array<std::uint64_t, 15> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

// A metric of one value, in Prometheus' text format.
std::string metric(const char* name, const char* type, const char* help, double value);

class Metrics final : public session::ExecutionObserver {
 public:
  void handled(const Handled& request);
  void ended(session::Execution& execution) override;
  void network_decided(const std::string& session, const NetworkEntry& entry) override;
  void screenshot_taken(const session::Pictured& picture) override;
  void recording_changed(const session::Recording& recording, std::uint64_t bytes) override;
  // `keeper` is the keeper's own account, JSON.
  std::string text(const session::Registry& registry, const session::Recordings& recordings,
                   const Server& server, const KeeperInfo* keeper) const;

 private:
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;  // route, status
  Histogram create_;
  Histogram exec_request_;
  std::array<Histogram, 7> executions_;
  std::array<std::array<std::uint64_t, 7>, kPolicies> by_policy_{};        // and outcome
  std::map<std::pair<Policy, std::string_view>, std::uint64_t> refusals_;  // policy, rule
  std::array<std::uint64_t, 3> pictures_{};                                // ok, blank, failed
  Histogram picture_;
  std::map<std::string, std::uint64_t> recordings_;  // that have ended, by reason
  std::uint64_t output_truncated_ = 0;
  std::array<std::uint64_t, 3> network_{};  // by NetworkDecision
};

}  // namespace vitrine::api
