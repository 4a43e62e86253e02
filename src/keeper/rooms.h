// SPDX-License-Identifier: Apache-2.0
// Rooms: a shell with a sealed, ready worker in it, made before anybody asks where that pays.
//
// Rehearsed workers wait in a pool per variant, empty shells in another. Both are filled again when
// no request came for a moment, not at the hand-over, which would triple its latency.
// Of each kind of interpreter a few rooms are made at a time for those who ask; in a burst the others
// wait, in order.
// Only one-shots, which leave nothing that their client could ask for later, are given recycled
// shells: everything of the last worker is killed, and the next one makes itself new scratch
// filesystems, an ipc namespace and Landlock rules before it is sealed.
//
// Ownership: a Room belongs to whoever took it, and must come back through give_back() or refresh().
// Threading: the keeper's loop.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "keeper/crowd.h"
#include "keeper/request_window.h"
#include "keeper/shells.h"
#include "keeper/zygotes.h"
#include "model/session.h"
#include "wire/control.h"

namespace vitrine::keeper {

struct PoolConfig {
  std::array<std::uint32_t, kVariants> workers{0, 4, 0};  // rehearsed, per variant
  std::uint32_t shells = 16;                              // empty
  std::uint32_t recycled = 32;                            // empty, used before, for one-shots only
  std::uint32_t uses_per_shell = 1000;                    // then a recycled shell is taken down
};

struct Worker {
  int pid = -1;
  std::shared_ptr<void> lease = {};
  Fd socket = {};  // the client's end; the client gets a copy
  Fd out = {};
  Fd err = {};
};

struct Room {
  Shell* shell = nullptr;
  Worker worker = {};
  Variant variant = Variant::loaded;
  std::string environment = {};
  Policy policy = Policy::native;
  Lifetime lifetime = Lifetime::session;
  std::uint64_t oom_kills = 0;  // before this worker
  bool killed_for_memory = false;
  bool frozen = false;  // everything inside is stopped
  TimerId oom_timer = 0;
  std::unique_ptr<Crowd::Member> yields = {};  // to those that want the processor for a moment
  std::optional<Death> death = {};             // of the worker
  std::function<void(Death)> on_death = {};    // called once, from the loop
};

class Rooms {
 public:
  struct Taken {
    std::unique_ptr<Room> room;
    Source source = Source::warm;
  };
  using Take = std::function<void(Result<Taken>)>;

  Rooms(Loop& loop, Reaper& reaper, Shells& shells, Zygotes& zygotes, PoolConfig config)
      : loop_(loop),
        reaper_(reaper),
        shells_(shells),
        zygotes_(zygotes),
        config_(config),
        crowd_(loop) {}

  // `taken` is called once, now (warm) or later.
  void take(const wire::Create& request, Take taken);
  // Kills what is inside; `gone` when nothing of it is left, or it waits for the next one-shot.
  void give_back(std::unique_ptr<Room> room, std::function<void()> gone);
  bool can_refresh(const Room& room) const;
  // The same files, a new worker; only where can_refresh() says so.
  void refresh(std::unique_ptr<Room> room, Take taken);

  // Mounts packages in it, over its environment, unless they are. The room must stay until `done` was called.
  void add_layer(Room& room, const std::string& layer, std::function<void(Status)> done);

  void signal(const Room& room, int signal, std::uint64_t value) const;
  // All that session code started, not only the worker.
  void kill_worker(Room& room);
  // Its main thread waits for the client's next message: nothing is being executed.
  bool waits_for_message(const Room& room) const;
  // The kernel has killed something in it for want of memory.
  bool lost_to_memory(Room& room) const;
  Result<wire::Used> usage(const Room& room) const;
  Result<std::uint64_t> processor_time(const Room& room) const;  // microseconds
  // The same and, while sessions fill the machine, for how long its threads waited for a processor:
  // one that is starved is not calm.
  Result<std::uint64_t> wanted_time(const Room& room) const;
  Status freeze(Room& room, bool frozen);
  // Continues what is frozen. Nothing inside a frozen room answers, yields or (cgroups v1) dies, and a
  // worker that is started in one never begins.
  void thaw(Room& room);
  void set_yielding(Room& room, bool yields);
  bool crowded() const { return crowd_.full(); }  // sessions fill the machine

  // Fills the pools; called once at the start, then by itself.
  void refill();
  bool full() const;
  // How often in a row a pool could not be filled.
  std::uint32_t failures() const { return std::max(shell_failures_, worker_failures_); }
  struct Counts {
    std::array<std::size_t, kVariants> warm{};
    std::size_t empty = 0;
    std::size_t recycled = 0;
  };
  Counts counts() const;
  void stop();
  void inject_faults(Faults faults) { faults_ = std::move(faults); }

 private:
  static constexpr std::size_t kMaxStarts = 64;
  enum class Rehearse { no, yes };
  struct Start {
    std::unique_ptr<Room> room;
    Source source = Source::forked;
    Take taken;
    TimerId timer = 0;
    bool joined = false;
    bool ready = false;
  };

  Flavor flavor_for(const wire::Create& request);
  std::unique_ptr<Room> take_warm(const wire::Create& request);
  void take_cold(const wire::Create& request, Take taken);
  // `begin` in its turn among those that want the same interpreter, with what it is to call at the end.
  void start_in_turn(const wire::Create& request, Take taken, std::function<void(Take)> begin);
  RequestWindow& starts_of(const wire::Create& request);
  void furnish(Shell* shell, const wire::Create& request, Rehearse rehearse, Source source,
               Take taken);
  void worker_forked(const std::shared_ptr<Start>& start, Result<Born> born);
  void worker_spoke(const std::shared_ptr<Start>& start);
  static Error last_words(const Start& start, Error otherwise);
  void conclude(const std::shared_ptr<Start>& start);
  void abandon(const std::shared_ptr<Start>& start, Error error);
  void watch_room(Room& room);
  void worker_ended(Room& room, Ending ending);
  void out_of_memory(Room& room);
  void look_for_oom_kill(Room& room, int looks);
  // Whether anything of it can be seen in the network namespace, which is not renewed.
  bool used_the_network(const Shell& shell) const;
  bool left_network_traces(const Shell& shell) const;
  bool was_display_wanted(const Shell& shell) const;
  enum class Vacant { no, yes };
  void vacate(Shell* shell, int tries, std::function<void(Vacant)> then);
  void recycle(Shell* shell, std::function<void()> gone);
  bool may_recycle(const Room& room) const;
  void schedule_refill();
  void refill_later(std::uint32_t& failures, Error error);

  Loop& loop_;
  Reaper& reaper_;
  Shells& shells_;
  Zygotes& zygotes_;
  PoolConfig config_;
  Faults faults_;
  Crowd crowd_;  // before whatever may hold a member
  std::map<Flavor, RequestWindow> starts_;
  bool stopping_ = false;
  std::array<std::deque<std::unique_ptr<Room>>, kVariants> warm_;
  std::array<std::uint32_t, kVariants> warming_{};
  std::deque<Shell*> empty_;
  std::deque<Shell*> recycled_;
  std::uint32_t building_ = 0;
  std::uint32_t shell_failures_ = 0;  // in a row
  std::uint32_t worker_failures_ = 0;
  TimerId refill_timer_ = 0;
  Clock::time_point refill_latest_{};
};

}  // namespace vitrine::keeper
