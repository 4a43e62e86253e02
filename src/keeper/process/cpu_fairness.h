// SPDX-License-Identifier: Apache-2.0
// CPU fairness: which sandboxes yield the CPU to those that want it only for a moment, and until when.
//
// A sandbox yields while an execution runs in it, and after that until it is idle: what the execution
// started may go on. A sandbox that uses the CPU with no execution is found by a sweep, a few at a time;
// one that naps between bursts must be idle for longer each time it is found.
//
// Ownership: a Member belongs to its sandbox and must end before its account and before CpuFairness.
// Threading: the keeper's loop.
// Failure:   without an account that measures, nobody yields: neighbours are as near as without us.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/result.h"
#include "keeper/loop.h"

namespace vitrine::keeper {

// One sandbox's CPU time, and its share of the machine.
class CpuAccount {
 public:
  CpuAccount() = default;
  virtual ~CpuAccount() = default;
  CpuAccount(const CpuAccount&) = delete;
  CpuAccount& operator=(const CpuAccount&) = delete;

  virtual Result<std::uint64_t> used_usec() const = 0;
  // For how long its threads have waited for a CPU.
  virtual std::uint64_t waited_usec() const = 0;
  // Sessions use more of the machine than they leave idle: a sandbox may be starved.
  virtual bool is_contended() const = 0;

  // A small share. May have no effect: yields() tells.
  virtual void yield() = 0;
  virtual void stop_yielding() = 0;
  virtual bool yields() const = 0;
};

class CpuFairness {
 public:
  class Member;

  explicit CpuFairness(Loop& loop) : loop_(loop) {}
  ~CpuFairness() { loop_.cancel(sweep_); }
  CpuFairness(const CpuFairness&) = delete;
  CpuFairness& operator=(const CpuFairness&) = delete;

  std::unique_ptr<Member> add(CpuAccount& account);

 private:
  void schedule_sweep();
  void sweep();

  Loop& loop_;
  TimerId sweep_ = 0;
  std::uint64_t last_id_ = 0;
  std::uint64_t last_swept_ = 0;
  std::map<std::uint64_t, Member*> members_;
};

class CpuFairness::Member {
 public:
  Member(CpuFairness& fairness, CpuAccount& account, std::uint64_t id)
      : fairness_(fairness), account_(account), id_(id) {}
  // The usual share again.
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  void execution_started();
  void execution_ended();
  // It is being killed: dying takes CPU time, too. It yields no more.
  void stop();

 private:
  friend class CpuFairness;
  // `wanted_before`: what it had wanted a period ago; 0 = nobody looked.
  void check_idle(std::uint64_t wanted_before);
  void check_unexpected_use();
  Result<std::uint64_t> wanted_usec() const;

  CpuFairness& fairness_;
  CpuAccount& account_;
  std::uint64_t id_;
  bool stopped_ = false;
  TimerId idle_check_ = 0;
  std::uint32_t idle_periods_ = 0;  // in a row
  std::uint32_t times_caught_ = 0;  // using the CPU with no execution
  std::uint64_t swept_usec_ = 0;    // CPU time at the last sweep; 0 = none yet
  Clock::time_point swept_{};
};

}  // namespace vitrine::keeper
