// SPDX-License-Identifier: Apache-2.0
// The process isolation: a session is a forked interpreter in a shell, made before anybody asks where
// that pays.
//
// Rehearsed workers wait in a pool per variant, empty shells in another. Both are filled again when
// no request came for a moment, not at the hand-over, which would triple its latency.
// Of each kind of interpreter a few sandboxes are made at a time for those who ask; in a burst the
// others wait, in order.
// Only one-shots, which leave nothing that their client could ask for later, are given recycled
// shells (ShellRecycler).
//
// Threading: the keeper's loop.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "keeper/process/process_sandbox.h"
#include "keeper/process/request_window.h"
#include "keeper/process/shell_recycler.h"
#include "keeper/process/worker_starter.h"
#include "keeper/process/zygotes.h"
#include "model/settings.h"

namespace vitrine::keeper {

struct PoolConfig {
  std::array<std::uint32_t, kVariants> workers{
      settings::kPoolBare.otherwise, settings::kPool.otherwise,
      settings::kPoolSeeded.otherwise};                    // rehearsed, per variant
  std::uint32_t shells = settings::kShells.otherwise;      // empty
  std::uint32_t recycled = settings::kRecycled.otherwise;  // empty, used before, for one-shots only
  std::uint32_t uses_per_shell =
      settings::kUsesPerShell.otherwise;  // then a recycled shell is taken down
};

class ProcessIsolation final : public Isolation, private ProcessSandbox::Pool {
 public:
  ProcessIsolation(ProcessParts parts, Zygotes& zygotes, Capabilities capabilities,
                   PoolConfig config);

  Capabilities capabilities() const override { return capabilities_; }
  Status check(const SandboxSpec& spec) const override;
  void take(const SandboxSpec& spec, SandboxObserver& observer, Take taken) override;
  void give_back(std::unique_ptr<Sandbox> sandbox, std::function<void()> gone) override;
  bool can_refresh(const Sandbox& sandbox) const override;
  void refresh(std::unique_ptr<Sandbox> sandbox, Take taken) override;

  void refill() override;
  bool full() const override;
  std::uint32_t failures() const override { return std::max(shell_failures_, worker_failures_); }
  PoolInfo counts() const override;
  void stop() override;
  void inject_faults(Faults faults) { starter_.inject_faults(std::move(faults)); }

 private:
  static constexpr std::size_t kMaxStarts = 64;
  using Started = WorkerStarter::Started;
  // A sandbox on its way from its worker's start to its owner.
  struct Delivery {
    std::unique_ptr<ProcessSandbox> sandbox;
    Source source = Source::warm;
    SandboxObserver* observer = nullptr;
    Take taken;
  };

  void waiting_worker_died(ProcessSandbox& sandbox) override;
  void take_worker(const SandboxSpec& spec, Answer<Started> started);
  std::unique_ptr<ProcessSandbox> take_warm(const SandboxSpec& spec);
  void take_cold(const SandboxSpec& spec, Answer<Started> started);
  // `begin` in its turn among those that want the same interpreter, with what it is to call at the end.
  void start_in_turn(const SandboxSpec& spec, Answer<Started> started,
                     std::function<void(Answer<Started>)> begin);
  RequestWindow& starts_of(const SandboxSpec& spec);
  void mount_layers(const std::shared_ptr<Delivery>& delivery);
  void open_network(const std::shared_ptr<Delivery>& delivery);
  void deliver(Delivery& delivery);
  void fail(const std::shared_ptr<Delivery>& delivery, Error error);
  void start_again(std::unique_ptr<ProcessSandbox> sandbox, SandboxObserver& observer, Take taken);
  void release(std::unique_ptr<ProcessSandbox> sandbox, std::function<void()> gone);
  void take_down(std::unique_ptr<ProcessSandbox> sandbox, std::function<void()> gone);
  void when_files_rest(std::unique_ptr<ProcessSandbox> sandbox,
                       std::function<void(std::unique_ptr<ProcessSandbox>)> then);
  void refill_workers();
  void refill_shells();
  void schedule_refill();
  void refill_later(std::uint32_t& failures, Error error);

  ProcessParts parts_;
  Zygotes& zygotes_;
  Capabilities capabilities_;
  PoolConfig config_;
  ShellRecycler recycler_;
  WorkerStarter starter_;
  std::map<ZygoteKey, RequestWindow> starts_;
  bool stopping_ = false;
  std::array<std::deque<std::unique_ptr<ProcessSandbox>>, kVariants> warm_;
  std::array<std::uint32_t, kVariants> warming_{};
  std::deque<Shell*> empty_;
  std::uint32_t building_ = 0;
  std::uint32_t shell_failures_ = 0;  // in a row
  std::uint32_t worker_failures_ = 0;
  TimerId refill_timer_ = 0;
  Clock::time_point refill_latest_{};
};

}  // namespace vitrine::keeper
