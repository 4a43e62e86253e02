// SPDX-License-Identifier: Apache-2.0
// What a keeper knows of itself: its reply to `Info`, and what /v1/info and /metrics are made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/isolation.h"
#include "model/level.h"
#include "model/session.h"

namespace vitrine {

struct IsolationInfo {
  Level level = Level::full;
  Level floor = Level::full;      // the operator allows no less
  std::vector<std::string> lost;  // what the level has less than `full`
  bool privileged = false;        // the keeper is root
  std::string cgroups;            // "v2", "v1", "hybrid" or "none"
  LimitsLevel limits = LimitsLevel::enforced;
  std::vector<std::string> best_effort;  // the limits that are
  std::string memory;  // what enforces the limit: "cgroup", or what stands in for one
  std::string processes;
  std::string cpu;
  std::uint32_t landlock_abi = 0;
};

// An isolation that sessions can have, and what sessions in it can have.
struct IsolationOffer {
  IsolationKind isolation = IsolationKind::process;
  Capabilities capabilities;
};

// Workers and shells that wait to be used.
struct PoolInfo {
  std::uint32_t bare = 0;
  std::uint32_t loaded = 0;
  std::uint32_t seeded = 0;
  std::uint32_t empty = 0;     // shells without a worker
  std::uint32_t recycled = 0;  // shells that had one
};

struct ZygoteInfo {
  Variant variant = Variant::bare;
  std::string environment;  // "" = the image alone
  Policy policy = Policy::native;
  std::int32_t pid = -1;
  bool warm = false;
  std::uint64_t forks = 0;
  std::uint32_t alive = 0;  // workers
};

struct EnvironmentInfo {
  std::string name;
  std::vector<std::string> preload;  // modules that its zygotes have imported
};

struct KeeperInfo {
  std::string instance;  // a name that no keeper before had
  std::string python;    // of the image
  IsolationInfo isolation;
  bool egress = false;  // sessions may have a network
  std::uint32_t proxies = 0;
  std::uint32_t sessions = 0;
  std::uint32_t capacity = 0;  // sessions that may exist at once
  std::uint32_t shells = 0;    // in use or waiting
  PoolInfo pools;
  std::int32_t keeper_pid = -1;  // -1 = there is no such process
  std::int32_t front_pid = -1;
  std::int32_t builder_pid = -1;
  std::int32_t outer_init_pid = -1;
  std::uint64_t front_restarts = 0;
  std::uint32_t encoders = 0;
  std::uint64_t encoder_cpu_us = 0;  // of all that have run
  std::vector<ZygoteInfo> zygotes;
  std::vector<EnvironmentInfo> environments;
  std::vector<IsolationOffer> isolations;
};

}  // namespace vitrine
