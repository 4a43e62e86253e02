// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/process_isolation.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

// A pool is filled once nobody asked for this long; but at the latest after kRefillLatest.
constexpr std::chrono::milliseconds kRefillPause{15};
constexpr std::chrono::milliseconds kRefillLatest{250};
constexpr std::uint32_t kMaxBuilding = 2;

std::size_t index(Variant variant) { return static_cast<std::size_t>(variant); }

std::unique_ptr<ProcessSandbox> own(std::unique_ptr<Sandbox> sandbox) {
  return std::unique_ptr<ProcessSandbox>(static_cast<ProcessSandbox*>(sandbox.release()));
}

}  // namespace

ProcessIsolation::ProcessIsolation(ProcessParts parts, Zygotes& zygotes, Capabilities capabilities,
                                   PoolConfig config)
    : parts_(parts),
      zygotes_(zygotes),
      capabilities_(capabilities),
      config_(config),
      recycler_(parts.loop, parts.shells,
                {.shells = config.recycled, .uses_per_shell = config.uses_per_shell}),
      starter_(parts, zygotes, *this) {}

Status ProcessIsolation::check(const SandboxSpec& spec) const {
  if (spec.network)
    if (Status allowed = parts_.egress.check(*spec.network); !allowed) return allowed;
  if (!spec.layers.empty() && !capabilities_.has(Capability::packages))
    return Error{.code = Code::unsupported,
                 .message = "sessions cannot have packages of their own on this host",
                 .remedy = "`vitrine doctor` reports what is missing"};
  if (!zygotes_.knows(spec.environment))
    return Error{.code = Code::invalid_argument,
                 .message = "there is no such environment",
                 .remedy = "GET /v1/info names those that exist"};
  return ok();
}

void ProcessIsolation::take(const SandboxSpec& spec, SandboxObserver& observer, Take taken) {
  schedule_refill();
  if (Status possible = check(spec); !possible) return taken(std::move(possible.error()));
  // An environment's zygote starts when it is first asked for, and may import for long.
  const ZygoteKey key(spec.variant, spec.environment);
  if (!spec.environment.empty() && !zygotes_.warm(key)) {
    zygotes_.on_warm(key, [this, spec, &observer, taken = std::move(taken)](const Status& warm) {
      if (!warm) return taken(warm.error());
      take(spec, observer, taken);
    });
    return zygotes_.want(key);
  }
  take_worker(spec, [this, spec, &observer, taken = std::move(taken)](Result<Started> started) {
    if (!started) return taken(std::move(started.error()));
    auto delivery = std::make_shared<Delivery>(
        Delivery{std::move(started->sandbox), started->source, &observer, taken});
    delivery->sandbox->spec() = spec;
    mount_layers(delivery);
  });
}

void ProcessIsolation::take_worker(const SandboxSpec& spec, Answer<Started> started) {
  if (starts_of(spec).waiting() == 0)
    if (std::unique_ptr<ProcessSandbox> sandbox = take_warm(spec))
      return started(Started{std::move(sandbox), Source::warm});
  start_in_turn(spec, std::move(started), [this, spec](Answer<Started> then) {
    if (stopping_) return then(Error{Code::unavailable, "the keeper is stopping"});
    if (std::unique_ptr<ProcessSandbox> sandbox = take_warm(spec))  // while it waited
      return then(Started{std::move(sandbox), Source::warm});
    take_cold(spec, std::move(then));
  });
}

RequestWindow& ProcessIsolation::starts_of(const SandboxSpec& spec) {
  return starts_.try_emplace(ZygoteKey(spec.variant, spec.environment), kMaxStarts).first->second;
}

void ProcessIsolation::start_in_turn(const SandboxSpec& spec, Answer<Started> started,
                                     std::function<void(Answer<Started>)> begin) {
  RequestWindow& starts = starts_of(spec);
  starts.enter([&starts, started = std::move(started), begin = std::move(begin)] {
    begin([&starts, started](Result<Started> got) {
      started(std::move(got));
      starts.leave();
    });
  });
}

std::unique_ptr<ProcessSandbox> ProcessIsolation::take_warm(const SandboxSpec& spec) {
  auto& pool = warm_[index(spec.variant)];
  const bool plain = starter_.key_for(spec) == ZygoteKey(spec.variant);
  if (pool.empty() || !plain || !has_default_shape(spec.limits)) return nullptr;
  std::unique_ptr<ProcessSandbox> sandbox = std::move(pool.front());
  pool.pop_front();
  return sandbox;
}

void ProcessIsolation::take_cold(const SandboxSpec& spec, Answer<Started> started) {
  const bool ordinary = has_default_shape(spec.limits);
  using Shelter = WorkerStarter::Shelter;
  if (ordinary && spec.lifetime == Lifetime::one_shot)
    if (Shell* shell = recycler_.take())
      return starter_.start(shell, spec, {.shelter = Shelter::recycled}, std::move(started));
  if (ordinary && !empty_.empty()) {
    Shell* shell = empty_.front();
    empty_.pop_front();
    shell->on_init_gone = {};
    return starter_.start(shell, spec, {}, std::move(started));
  }
  parts_.shells.build(spec.limits,
                      [this, spec, started = std::move(started)](Result<Shell*> shell) {
                        if (!shell) return started(std::move(shell.error()));
                        if (stopping_)
                          return parts_.shells.retire(*shell, [started] {
                            started(Error{Code::unavailable, "the keeper is stopping"});
                          });
                        starter_.start(*shell, spec, {.source = Source::built}, started);
                      });
}

// Before anybody can talk to the worker.
void ProcessIsolation::mount_layers(const std::shared_ptr<Delivery>& delivery) {
  const SandboxSpec& spec = delivery->sandbox->spec();
  if (spec.layers.empty() && spec.environment.empty()) return open_network(delivery);
  const LayerList layers = spec.layers;
  delivery->sandbox->mount_layers(layers, [this, delivery](Status mounted) {
    if (!mounted) return fail(delivery, std::move(mounted.error()).during("adding packages"));
    open_network(delivery);
  });
}

void ProcessIsolation::open_network(const std::shared_ptr<Delivery>& delivery) {
  ProcessSandbox& sandbox = *delivery->sandbox;
  if (!sandbox.spec().network) return deliver(*delivery);
  sandbox.spec().lifetime = Lifetime::session;  // what had a network is not used again
  parts_.egress.open(sandbox.shell(), *sandbox.spec().network,
                     [this, delivery](Result<std::unique_ptr<Proxy>> proxy) {
                       if (!proxy) return fail(delivery, std::move(proxy.error()));
                       delivery->sandbox->proxy() = std::move(*proxy);
                       deliver(*delivery);
                     });
}

void ProcessIsolation::deliver(Delivery& delivery) {
  if (delivery.sandbox->death()) {
    auto held = std::make_shared<Delivery>(std::move(delivery));
    return fail(
        held,
        Error{.code = Code::unavailable, .message = "the worker died", .remedy = "try again"});
  }
  delivery.sandbox->hand_over(*delivery.observer);
  const Take taken = std::move(delivery.taken);
  taken(Taken{std::move(delivery.sandbox), delivery.source});
}

void ProcessIsolation::fail(const std::shared_ptr<Delivery>& delivery, Error error) {
  give_back(std::move(delivery->sandbox), {});
  delivery->taken(std::move(error));
}

void ProcessIsolation::waiting_worker_died(ProcessSandbox& sandbox) {
  for (auto& pool : warm_) {
    auto found = std::ranges::find_if(pool, [&](const auto& one) { return one.get() == &sandbox; });
    if (found == pool.end()) continue;
    std::unique_ptr<ProcessSandbox> owned = std::move(*found);
    pool.erase(found);
    owned->spec().lifetime = Lifetime::session;
    log_warning("a waiting worker died");
    give_back(std::move(owned), {});
    return schedule_refill();
  }
}

void ProcessIsolation::give_back(std::unique_ptr<Sandbox> sandbox, std::function<void()> gone) {
  std::unique_ptr<ProcessSandbox> owned = own(std::move(sandbox));
  // The proxy first: it is in the shell's cgroup.
  std::unique_ptr<Proxy> proxy = std::move(owned->proxy());
  if (!proxy) return release(std::move(owned), std::move(gone));
  owned->detach();
  owned->thaw();  // the proxy is in its cgroup: v1 kills only what runs
  auto kept = std::make_shared<std::unique_ptr<ProcessSandbox>>(std::move(owned));
  parts_.egress.close(std::move(proxy),
                      [this, kept, gone = std::move(gone)] { release(std::move(*kept), gone); });
}

void ProcessIsolation::release(std::unique_ptr<ProcessSandbox> sandbox,
                               std::function<void()> gone) {
  sandbox->detach();
  // A file server that works in the home holds its filesystem, and must not meet the next session there.
  when_files_rest(std::move(sandbox), [this, gone = std::move(gone)](auto resting) {
    take_down(std::move(resting), gone);
  });
}

void ProcessIsolation::when_files_rest(std::unique_ptr<ProcessSandbox> sandbox,
                                       std::function<void(std::unique_ptr<ProcessSandbox>)> then) {
  ProcessSandbox& busy = *sandbox;
  auto kept = std::make_shared<std::unique_ptr<ProcessSandbox>>(std::move(sandbox));
  busy.close_files([kept, then = std::move(then)] { then(std::move(*kept)); });
}

void ProcessIsolation::take_down(std::unique_ptr<ProcessSandbox> sandbox,
                                 std::function<void()> gone) {
  Shell* shell = &sandbox->shell();
  const bool reusable = sandbox->spec().lifetime == Lifetime::one_shot && !stopping_ &&
                        !sandbox->killed_for_memory() && recycler_.accepts(*shell);
  const int pid = sandbox->worker().pid;
  if (pid > 0) parts_.reaper.watch(pid, [lease = sandbox->worker().lease](Ending) {});
  // What it left running is the recycler's: most leave nothing, and a group in which nobody was killed by
  // the group's own means can be used again.
  const bool recyclable = reusable && (pid < 0 || parts_.reaper.signal(pid, SIGKILL));
  sandbox->thaw();
  if (!recyclable) {
    sandbox.reset();
    return parts_.shells.retire(shell, std::move(gone));
  }
  if (pid < 0) return recycler_.recycle(shell, std::move(gone));
  parts_.reaper.watch(pid, [this, shell, lease = sandbox->worker().lease,
                            gone = std::move(gone)](Ending) { recycler_.recycle(shell, gone); });
}

bool ProcessIsolation::can_refresh(const Sandbox& sandbox) const {
  const Shell& shell = static_cast<const ProcessSandbox&>(sandbox).shell();
  return shell.cgroup && !shell.init_gone;
}

void ProcessIsolation::refresh(std::unique_ptr<Sandbox> sandbox, Take taken) {
  std::unique_ptr<ProcessSandbox> owned = own(std::move(sandbox));
  SandboxObserver& observer = *owned->observer();
  std::unique_ptr<Proxy> proxy = std::move(owned->proxy());
  owned->detach();
  // On v1 nothing that is frozen dies, and the proxy is in the same cgroup.
  owned->thaw();
  const auto again = [this, &observer, taken = std::move(taken)](auto resting) {
    start_again(std::move(resting), observer, taken);
  };
  if (!proxy) return when_files_rest(std::move(owned), again);
  // The next one listens on the same port of the same namespace.
  auto kept = std::make_shared<std::unique_ptr<ProcessSandbox>>(std::move(owned));
  parts_.egress.close(std::move(proxy),
                      [this, kept, again] { when_files_rest(std::move(*kept), again); });
}

void ProcessIsolation::start_again(std::unique_ptr<ProcessSandbox> sandbox,
                                   SandboxObserver& observer, Take taken) {
  Shell* shell = &sandbox->shell();
  const int pid = sandbox->worker().pid;
  sandbox->kill();
  auto again = [this, shell, spec = sandbox->spec(), &observer,
                taken = std::move(taken)](ShellRecycler::Emptied emptied) {
    const auto refuse = [this, shell](const auto& then, const char* why) {
      parts_.shells.retire(shell, [then, why] { then(Error{Code::unavailable, why}); });
    };
    if (emptied == ShellRecycler::Emptied::no)
      return refuse(taken, "the old worker's processes do not end");
    const auto started = [this, &observer, taken](Result<Started> made) {
      if (!made) return taken(std::move(made.error()));
      open_network(std::make_shared<Delivery>(
          Delivery{std::move(made->sandbox), made->source, &observer, taken}));
    };
    start_in_turn(spec, started, [this, shell, spec, refuse](Answer<Started> then) {
      if (stopping_) return refuse(then, "the keeper is stopping");
      const WorkerStarter::How how{.source = Source::warm, .shelter = WorkerStarter::Shelter::kept};
      starter_.start(shell, spec, how, std::move(then));
    });
  };
  if (pid < 0) return recycler_.wait_empty(shell, std::move(again));
  parts_.reaper.watch(pid, [this, shell, lease = sandbox->worker().lease, again = std::move(again)](
                               Ending) { recycler_.wait_empty(shell, again); });
}

void ProcessIsolation::schedule_refill() {
  if (stopping_) return;
  const auto now = parts_.loop.now();
  if (refill_timer_ == 0) refill_latest_ = now + kRefillLatest;
  parts_.loop.cancel(refill_timer_);
  refill_timer_ = parts_.loop.at(std::min(now + kRefillPause, refill_latest_), [this] {
    refill_timer_ = 0;
    refill();
  });
}

void ProcessIsolation::refill_later(std::uint32_t& failures, Error error) {
  ++failures;
  if (stopping_) return;
  log_warning(std::move(error).during("filling the pool").describe());
  if (refill_timer_ != 0) return;
  refill_latest_ = parts_.loop.now() + std::chrono::milliseconds(100u << std::min(failures, 6u));
  refill_timer_ = parts_.loop.at(refill_latest_, [this] {
    refill_timer_ = 0;
    refill();
  });
}

void ProcessIsolation::refill() {
  if (stopping_) return;
  refill_workers();
  refill_shells();
}

void ProcessIsolation::refill_workers() {
  using Rehearse = WorkerStarter::Rehearse;
  for (std::size_t v = 0; v < kVariants; ++v) {
    if (warm_[v].size() + warming_[v] >= config_.workers[v]) continue;
    if (warming_[v] >= 1 || empty_.empty()) continue;
    Shell* shell = empty_.front();
    empty_.pop_front();
    shell->on_init_gone = {};
    ++warming_[v];
    const SandboxSpec spec{.variant = static_cast<Variant>(v)};
    const WorkerStarter::How how{.source = Source::warm, .rehearse = Rehearse::yes};
    starter_.start(shell, spec, how, [this, v](Result<Started> started) {
      --warming_[v];
      if (!started) return refill_later(worker_failures_, std::move(started.error()));
      worker_failures_ = 0;
      if (stopping_) return give_back(std::move(started->sandbox), {});
      warm_[v].push_back(std::move(started->sandbox));
      if (refill_timer_ == 0) refill();
    });
  }
}

void ProcessIsolation::refill_shells() {
  std::size_t wanted = config_.shells;
  for (std::size_t v = 0; v < kVariants; ++v)
    wanted += config_.workers[v] -
              std::min<std::size_t>(config_.workers[v], warm_[v].size() + warming_[v]);
  while (empty_.size() + building_ < wanted && building_ < kMaxBuilding) {
    ++building_;
    parts_.shells.build(Limits{}, [this](Result<Shell*> shell) {
      --building_;
      if (!shell) return refill_later(shell_failures_, std::move(shell.error()));
      shell_failures_ = 0;
      if (stopping_) return parts_.shells.retire(*shell, {});
      (*shell)->on_init_gone = [this, gone = *shell] {
        std::erase(empty_, gone);
        parts_.shells.retire(gone, {});
        schedule_refill();
      };
      empty_.push_back(*shell);
      if (refill_timer_ == 0) refill();
    });
  }
}

bool ProcessIsolation::full() const {
  for (std::size_t v = 0; v < kVariants; ++v)
    if (warm_[v].size() < config_.workers[v]) return false;
  return empty_.size() >= config_.shells;
}

PoolInfo ProcessIsolation::counts() const {
  const auto warm = [this](Variant variant) {
    return static_cast<std::uint32_t>(warm_[index(variant)].size());
  };
  return {.bare = warm(Variant::bare),
          .loaded = warm(Variant::loaded),
          .seeded = warm(Variant::seeded),
          .empty = static_cast<std::uint32_t>(empty_.size()),
          .recycled = static_cast<std::uint32_t>(recycler_.size())};
}

void ProcessIsolation::stop() {
  stopping_ = true;
  for (auto& [key, starts] : starts_) starts.flush();
  parts_.loop.cancel(std::exchange(refill_timer_, 0));
  for (auto& pool : warm_)
    for (auto& sandbox : std::exchange(pool, {})) give_back(std::move(sandbox), {});
  for (Shell* shell : std::exchange(empty_, {})) parts_.shells.retire(shell, {});
  recycler_.stop();
}

}  // namespace vitrine::keeper
