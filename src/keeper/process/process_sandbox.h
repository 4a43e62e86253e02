// SPDX-License-Identifier: Apache-2.0
// A sandbox of the process isolation: a shell with a forked, sealed worker in it.
//
// It lives from the fork to the day its isolation takes the shell back. Until hand_over() it waits in a
// pool, where its death is the pool's business.
// Threading: the keeper's loop.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "keeper/isolation.h"
#include "keeper/process/cpu_fairness.h"
#include "keeper/process/cpu_placement.h"
#include "keeper/process/displays.h"
#include "keeper/process/egress.h"
#include "keeper/process/file_servers.h"
#include "keeper/process/oom_watch.h"
#include "keeper/process/shells.h"

namespace vitrine::keeper {

// What sandboxes are made with; whoever wires the keeper owns it.
struct ProcessParts {
  Loop& loop;
  Reaper& reaper;
  Shells& shells;
  Displays& displays;
  Egress& egress;
  CpuPlacement& placement;
  CpuFairness& fairness;
  FileServers& files;
};

struct Worker {
  int pid = -1;
  std::shared_ptr<void> lease = {};
  Fd socket = {};  // the client's end; the client gets a copy
  Fd out = {};
  Fd err = {};
};

class ProcessSandbox final : public Sandbox {
 public:
  // Told of a worker that dies before hand_over().
  class Pool {
   public:
    virtual ~Pool() = default;
    virtual void waiting_worker_died(ProcessSandbox& sandbox) = 0;
  };

  ProcessSandbox(ProcessParts parts, Shell& shell, const SandboxSpec& spec);
  ~ProcessSandbox() override;

  WorkerFds fds() const override;
  void interrupt(std::uint64_t execution) override;
  void ask_stack(std::uint64_t execution) override;
  void end_loop(std::uint64_t execution, wire::Screen screen) override;
  void execution_started() override;
  void execution_ended() override;
  void kill() override;
  void freeze(Freeze wanted, Done done) override;
  void is_idle(Answer<bool> answer) override;
  void usage(Answer<wire::Used> answer) override;
  SandboxFiles& files() override;
  SandboxDisplay* display() override;
  void mount_layers(const LayerList& layers, Done done) override;

  // --- For its isolation.
  Shell& shell() const { return shell_; }
  Worker& worker() { return worker_; }
  SandboxSpec& spec() { return spec_; }
  const std::optional<Death>& death() const { return death_; }
  SandboxObserver* observer() const { return observer_; }
  std::unique_ptr<Proxy>& proxy() { return proxy_; }

  // The worker is ready: from now on its end is seen.
  void watch_worker(Pool& pool);
  void hand_over(SandboxObserver& observer);
  // Nobody is told anything any more, nothing is measured; the worker goes on.
  void detach();
  // File verbs answer `unavailable` from now on; `quiet` when none is under way in the shell's home.
  void close_files(std::function<void()> quiet);
  bool killed_for_memory() const { return killed_for_memory_; }
  Status set_frozen(Freeze wanted);
  // Continues what is frozen. Nothing inside a frozen sandbox dies on cgroups v1, and a worker that is
  // started in one never begins.
  void thaw();
  // Only then can the shell be used again; see ShellRecycler.
  bool kill_in_cgroup();

 private:
  class HomeFiles;
  class ShellDisplay;
  class CgroupCpu;

  void signal(int signal, std::uint64_t value) const;
  void worker_ended(Ending ending);
  bool look_for_oom_kill();
  void report(Death death);

  ProcessParts parts_;
  Shell& shell_;
  SandboxSpec spec_;
  Worker worker_;
  std::unique_ptr<HomeFiles> files_;
  std::unique_ptr<ShellDisplay> display_;
  std::unique_ptr<OomWatch> oom_;
  std::unique_ptr<CgroupCpu> cpu_;  // before its member
  std::unique_ptr<CpuFairness::Member> fairness_;
  std::unique_ptr<Proxy> proxy_;  // null without a network, and once the worker is dead
  std::optional<Death> death_;
  bool frozen_ = false;
  bool killed_for_memory_ = false;
  bool reported_ = false;
  Pool* pool_ = nullptr;
  SandboxObserver* observer_ = nullptr;
};

}  // namespace vitrine::keeper
