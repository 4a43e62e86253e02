// SPDX-License-Identifier: Apache-2.0
// The sessions whose executions last, and which therefore yield to those that want the processor only
// for a moment: a small share, and their own processors while they fill the machine.
//
// The share alone does not keep them out of the way. Linux repays a group what it missed on a
// processor before others get their turn there, and a session whose threads hop between processors
// is owed something on all of them: a quiet session beside it then waits 5 to 20 ms for its turn
// (docs/decisions/0024). So while sessions use more of the machine than they leave idle, each CPU-bound
// one is kept on as many processors as its limit lets it use at once; else they may run anywhere.
//
// Ownership: a Member belongs to whoever added it, and must go before its Cgroup does.
// Threading: the keeper's loop.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "jail/cgroup.h"
#include "keeper/loop.h"
#include "keeper/process/assign_cpus.h"

namespace vitrine::keeper {

class CpuPlacement {
 public:
  explicit CpuPlacement(Loop& loop);
  ~CpuPlacement();
  CpuPlacement(const CpuPlacement&) = delete;
  CpuPlacement& operator=(const CpuPlacement&) = delete;

  class Member;
  // Null if the host gives no shares to sessions.
  std::unique_ptr<Member> add(jail::Cgroup& cgroup, std::uint32_t cpu_permille);

  // Sessions used more of the machine than they left idle, at the last look.
  bool full() const { return full_; }

 private:
  void look_after(std::chrono::milliseconds time);
  void look();
  void keep_apart(double usec);  // that went by since the last look
  bool is_full();                // since the last look sessions used more than they left
  void release_all();

  Loop& loop_;
  std::vector<int> cpus_;  // that we may use, at the last look
  std::list<Member*> members_;
  TimerId timer_ = 0;
  struct Spent {
    std::uint64_t used = 0;  // microseconds, by all sessions
    std::uint64_t idle = 0;  // and by nobody
  };
  std::optional<Spent> spent_;  // at the last look; empty = nobody was there to look at
  Clock::time_point last_look_{};
  bool full_ = false;
  std::uint64_t looks_ = 0;
  std::size_t next_ = 0;  // whom to see to again
  bool told_ = false;     // that confining is refused
};

class CpuPlacement::Member {
 public:
  Member(CpuPlacement& placement, jail::Cgroup& cgroup, std::uint32_t cpu_permille);
  // The usual share again, anywhere.
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

 private:
  friend class CpuPlacement;
  // True if it used the processor in the last `usec` microseconds, or is believed to go on.
  bool is_cpu_bound(double usec);
  void keep_on(std::vector<std::size_t> places);  // in CpuPlacement::cpus_
  void release();
  void confine(const std::vector<int>& cpus);

  CpuPlacement& placement_;
  jail::Cgroup& cgroup_;
  std::optional<std::uint64_t> used_;  // microseconds, at the last look
  int calm_looks_ = 0;                 // in a row
  bool release_again_ = false;
  BusySession busy_;
};

}  // namespace vitrine::keeper
