// SPDX-License-Identifier: Apache-2.0
// The warm interpreters that workers are forked from, one slot per variant, and per variant of
// an environment that somebody asked for.
//
// A zygote is replaced when it dies, and before its children become so many that forking slows down
// (docs/engine.md): the next one warms up beside it, takes over, and the old one leaves. Workers are
// children of the keeper, so a zygote's end touches none of them.
// Threading: the keeper's loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "keeper/environments.h"
#include "keeper/process/shells.h"
#include "model/environment.h"
#include "wire/fork.h"

namespace vitrine::keeper {

struct ZygoteConfig {
  int zygote_filter = -1;  // memfds with seccomp programs
  int worker_filter = -1;
  std::uint32_t children_per_zygote = 400;  // alive
  std::map<std::string, Environment> environments = {};
};

// A forked worker. The lease counts it among its zygote's living children: drop it when it is gone.
struct ForkedWorker {
  int pid = -1;
  std::shared_ptr<void> lease;
};

// What goes with a request to fork.
struct ForkFds {
  std::shared_ptr<const Entrance> entrance;  // perhaps the shell's
  Fd socket;
  Fd out;
  Fd err;
  std::shared_ptr<const Fd> ruleset;  // the shell's; null = none

  std::vector<int> in_order() const;  // of wire/fork.h
};

class Zygotes {
 public:
  using Forked = std::function<void(Result<ForkedWorker>)>;

  Zygotes(Loop& loop, Reaper& reaper, Shells& shells, ZygoteConfig config)
      : loop_(loop), reaper_(reaper), shells_(shells), config_(config) {}

  // Begins to warm up a zygote of this variant, unless there is one.
  void want(const ZygoteKey& key);

  // Forks as soon as the variant is warm; `forked` is called once, later. While a zygote that died is
  // being replaced, nobody waits longer than a client has patience: `unavailable`. `fds` are
  // held until they are sent.
  void fork(const ZygoteKey& key, const wire::ForkRequest& request, ForkFds fds, Forked forked);

  bool knows(const std::string& environment) const {
    return environment.empty() || config_.environments.contains(environment);
  }
  bool warm(const ZygoteKey& key) const;
  struct Condition {
    ZygoteKey key = Variant::bare;
    int pid = -1;
    bool warm = false;
    std::uint64_t forks = 0;
    std::uint32_t alive = 0;
  };
  std::vector<Condition> conditions() const;
  // Called once, when the variant becomes warm for the first time or its start has failed for good.
  void on_warm(const ZygoteKey& key, std::function<void(Status)> told);
  void stop();

 private:
  struct Zygote {
    ZygoteKey key = Variant::bare;
    int pid = -1;
    Fd control;
    bool warm = false;
    std::uint64_t forks = 0;
    std::shared_ptr<std::uint32_t> alive = std::make_shared<std::uint32_t>(0);
    std::unordered_map<std::uint64_t, Forked> waiting;
    TimerId timer = 0;
  };
  struct Queued {
    wire::ForkRequest request;
    ForkFds fds;
    Forked forked;
    std::uint64_t place = 0;
  };
  struct ZygoteSlot {
    std::shared_ptr<Zygote> current;
    std::shared_ptr<Zygote> next;  // warming up
    std::deque<Queued> queue;
    bool was_warm = false;
    TimerId rotation = 0;  // until a zygote with many children is replaced
    std::uint32_t failures = 0;
    std::vector<std::function<void(Status)>> listeners;
  };

  ZygoteSlot& slot(const ZygoteKey& key) { return slots_[key]; }
  void start(const ZygoteKey& key);
  std::string modules_of(const ZygoteKey& key) const;
  void read(const std::shared_ptr<Zygote>& zygote);
  void became_warm(const std::shared_ptr<Zygote>& zygote);
  void died(const std::shared_ptr<Zygote>& zygote);
  void retire(const std::shared_ptr<Zygote>& zygote);
  void send(ZygoteSlot& slot, Queued queued);
  // Replaces a zygote with many children once nothing was forked for a moment: in a burst the imports of the
  // next one would take the processor from those who wait.
  void rotate_when_calm(ZygoteSlot& slot, const Zygote& zygote);
  void refuse(Queued queued);
  void give_up(const ZygoteKey& key, std::uint64_t place);
  void fail_queue(ZygoteSlot& slot, const Error& error);

  Loop& loop_;
  Reaper& reaper_;
  Shells& shells_;
  ZygoteConfig config_;
  std::uint64_t last_request_ = 0;
  std::uint64_t last_place_ = 0;
  bool stopping_ = false;
  std::map<ZygoteKey, ZygoteSlot> slots_;
};

}  // namespace vitrine::keeper
