// SPDX-License-Identifier: Apache-2.0
// Many sessions at once: what each holds, how fast they go, and what is left behind.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/host.h"
#include "engine/keeper_process.h"
#include "engine/latency.h"

namespace vitrine::bench {

struct CrowdMemory {  // KiB per session
  double pss = 0;     // of worker and init
  double private_dirty = 0;
  double slab = 0;
  double page_tables = 0;
  double kernel_stacks = 0;
  double available = 0;  // what the machine lost in all: disturbed by everything else that runs
  double whole() const { return pss + slab + page_tables + kernel_stacks; }
};

// Sessions that ran one trivial cell each and now wait.
class Crowd {
 public:
  explicit Crowd(KeeperProcess& keeper) : keeper_(keeper) {}

  // Milliseconds of all creations together.
  Result<double> grow(std::size_t count);
  Result<CrowdMemory> measure() const;
  // Ends all; seconds until nothing is left.
  Result<double> end_all();
  // Beyond what was there before the first.
  Result<Holdings> left_behind() const;
  std::size_t size() const { return channels_.size(); }

 private:
  KeeperProcess& keeper_;
  std::vector<control::Channel> channels_;
  std::vector<int> present_;  // processes there before
  Memory before_;
  Holdings held_;
};

// What `count` one-shots and then `count` sessions left behind.
Result<Holdings> leaks_after(KeeperProcess& keeper, std::uint64_t count);

}  // namespace vitrine::bench
