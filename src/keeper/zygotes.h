// SPDX-License-Identifier: Apache-2.0
// The warm interpreters that workers are forked from, one line of them per variant, and per variant of
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
#include "keeper/shells.h"
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
struct Born {
  int pid = -1;
  std::shared_ptr<void> lease;
};

class Zygotes {
 public:
  using Forked = std::function<void(Result<Born>)>;

  Zygotes(Loop& loop, Reaper& reaper, Shells& shells, ZygoteConfig config)
      : loop_(loop), reaper_(reaper), shells_(shells), config_(config) {}

  // Begins to warm up a zygote of this variant, unless there is one.
  void want(const Flavor& flavor);

  // Forks as soon as the variant is warm; `forked` is called once, later. While a zygote that died is
  // being replaced, nobody waits longer than a client has patience: `unavailable`. `fds` as in wire/fork.h,
  // owned until they are sent.
  void fork(const Flavor& flavor, const wire::ForkRequest& request, std::vector<Fd> fds,
            Forked forked);

  bool knows(const std::string& environment) const {
    return environment.empty() || config_.environments.contains(environment);
  }
  bool warm(const Flavor& flavor) const;
  struct Condition {
    Flavor flavor = Variant::bare;
    int pid = -1;
    bool warm = false;
    std::uint64_t forks = 0;
    std::uint32_t alive = 0;
  };
  std::vector<Condition> conditions() const;
  // Called once, when the variant becomes warm for the first time or its start has failed for good.
  void on_warm(const Flavor& flavor, std::function<void(Status)> told);
  void stop();

 private:
  struct Zygote {
    Flavor flavor = Variant::bare;
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
    std::vector<Fd> fds;
    Forked forked;
    std::uint64_t place = 0;
  };
  struct Line {
    std::shared_ptr<Zygote> current;
    std::shared_ptr<Zygote> next;  // warming up
    std::deque<Queued> queue;
    bool was_warm = false;
    TimerId rotation = 0;  // until a zygote with many children is replaced
    std::uint32_t failures = 0;
    std::vector<std::function<void(Status)>> listeners;
  };

  Line& line(const Flavor& flavor) { return lines_[flavor]; }
  void start(const Flavor& flavor);
  std::string modules_of(const Flavor& flavor) const;
  void read(const std::shared_ptr<Zygote>& zygote);
  void became_warm(const std::shared_ptr<Zygote>& zygote);
  void died(const std::shared_ptr<Zygote>& zygote);
  void retire(const std::shared_ptr<Zygote>& zygote);
  void send(Line& line, Queued queued);
  // Replaces a zygote with many children once nothing was forked for a moment: in a burst the imports of the
  // next one would take the processor from those who wait.
  void rotate_when_calm(Line& line, const Zygote& zygote);
  void refuse(Queued queued);
  void give_up(const Flavor& flavor, std::uint64_t place);
  void fail_queue(Line& line, const Error& error);

  Loop& loop_;
  Reaper& reaper_;
  Shells& shells_;
  ZygoteConfig config_;
  std::uint64_t last_request_ = 0;
  std::uint64_t last_place_ = 0;
  bool stopping_ = false;
  std::map<Flavor, Line> lines_;
};

}  // namespace vitrine::keeper
