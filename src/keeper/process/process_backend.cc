// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/process_backend.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <tuple>
#include <utility>

#include "keeper/process/floor_shells.h"
#include "keeper/process/sealed_shells.h"

namespace vitrine::keeper {

namespace {

constexpr std::uint32_t kOuterIds = 65536;
// Behind those of full jails and of their fronts: killing by user id must never meet them.
constexpr std::uint32_t kFloorIds = 2 * kOuterIds;

struct FaultNumbers {
  std::uint32_t shell = 0;
  std::uint32_t worker = 0;
  std::uint32_t display = 0;
};

// A test may rewrite the file while we run.
FaultNumbers fault_numbers(const Options& options) {
  FaultNumbers numbers{.shell = options.shell_fault, .worker = options.worker_fault};
  if (options.faults.empty()) return numbers;
  if (Result<std::string> text = read_file(AT_FDCWD, options.faults.c_str()))
    std::sscanf(text->c_str(), "%u %u %u", &numbers.shell, &numbers.worker, &numbers.display);
  return numbers;
}

std::string environments_of(const Options& options) { return options.image + ".environments"; }

}  // namespace

void ProcessBackend::make_shells(Host& host, const Programs& programs,
                                 const SealedFilters& filters) {
  if (host.level == Level::container) {  // which cannot mount environments
    shells_ =
        std::make_unique<FloorShells>(loop_, reaper_,
                                      FloorConfig{.image = programs.image.root,
                                                  .runtime = programs.runtime,
                                                  .first_user = options_.uid_base + kFloorIds});
    return;
  }
  environments_ = find_environments(environments_of(options_), programs.image.recipe);
  const OuterIds ids = host.ids ? OuterIds{static_cast<std::uint32_t>(host.ids->outer.first),
                                           static_cast<std::uint32_t>(host.ids->outer.count)}
                                : OuterIds{::geteuid(), 1};
  shells_ = std::make_unique<SealedShells>(
      loop_, reaper_, host.tree ? &*host.tree : nullptr,
      BuilderConfig{.ids = ids,
                    .image = programs.image.root,
                    .runtime = programs.runtime,
                    .init_program = programs.init.get(),
                    .screen_program = programs.screen.get(),
                    .display_filter = filters.display.get(),
                    .layers = options_.data.empty() ? "" : options_.data + "/layers",
                    .wheels = options_.wheels,
                    .environments = environments_.empty() ? "" : environments_of(options_)});
}

// What this host and this operator leave of it.
Capabilities ProcessBackend::capabilities(const Host& host, const Programs& programs) const {
  Capabilities can{Capability::files};
  if (host.level == Level::container) return can;  // no mounts, no network namespaces
  can.add(Capability::packages);
  can.add(Capability::environments);
  can.add(Capability::display);
  if (programs.encoder) can.add(Capability::recordings);
  if (options_.egress) can.add(Capability::network);
  return can;
}

Status ProcessBackend::start(Host& host, const Programs& programs, const SealedFilters& filters) {
  if (Status s = files_.start(); !s) return s;
  make_shells(host, programs, filters);
  if (Status s = shells_->start(); !s) return s;
  shells_->inject_faults([this] { return fault_numbers(options_).shell; });
  zygotes_.emplace(loop_, reaper_, *shells_,
                   ZygoteConfig{.zygote_filter = filters.zygote.get(),
                                .worker_filter = filters.worker.get(),
                                .children_per_zygote = options_.children_per_zygote,
                                .environments = environments_});
  displays_.emplace(loop_, reaper_, *shells_);
  displays_->inject_faults([this] { return fault_numbers(options_).display; });
  std::optional<uid_t> proxies;
  if (host.ids) proxies = host.ids->first_proxy;
  egress_.emplace(loop_, reaper_, *shells_,
                  EgressConfig{.on = options_.egress,
                               .program = options_.egress_program,
                               .private_ = options_.egress_private,
                               .index = options_.egress_index,
                               .first_user = proxies});
  if (Status s = egress_->prepare(); !s) return s;
  placement_.emplace(loop_);
  fairness_.emplace(loop_);
  isolation_.emplace(ProcessParts{.loop = loop_,
                                  .reaper = reaper_,
                                  .shells = *shells_,
                                  .displays = *displays_,
                                  .egress = *egress_,
                                  .placement = *placement_,
                                  .fairness = *fairness_,
                                  .files = files_},
                     *zygotes_, capabilities(host, programs), options_.pool);
  isolation_->inject_faults([this] { return fault_numbers(options_).worker; });
  return ok();
}

void ProcessBackend::warm_up(std::function<void(Status)> warm) {
  for (Variant variant : {Variant::loaded, Variant::bare, Variant::seeded})
    if (variant != Variant::seeded || options_.pool.workers[2] > 0) zygotes_->want(variant);
  zygotes_->on_warm(Variant::loaded, [this, warm = std::move(warm)](Status loaded) {
    if (loaded) isolation_->refill();
    warm(std::move(loaded));
  });
}

void ProcessBackend::describe(KeeperInfo& info) const {
  const auto count = [](auto number) { return static_cast<std::uint32_t>(number); };
  info.egress = egress_->on();
  info.proxies = count(egress_->alive());
  info.shells = count(shells_->alive());
  info.pools = isolation_->counts();
  std::tie(info.builder_pid, info.outer_init_pid) = shells_->base_processes();
  for (const Zygotes::Condition& one : zygotes_->conditions())
    info.zygotes.push_back({.variant = one.key.variant,
                            .environment = one.key.environment,
                            .policy = one.key.policy,
                            .pid = one.pid,
                            .warm = one.warm,
                            .forks = one.forks,
                            .alive = one.alive});
  for (const auto& [name, one] : environments_)
    info.environments.push_back({.name = name, .preload = one.preload});
}

void ProcessBackend::stop() {
  if (isolation_) isolation_->stop();
  if (zygotes_) zygotes_->stop();
  files_.stop();
}

void ProcessBackend::stop_shells() {
  if (shells_) shells_->stop();
}

}  // namespace vitrine::keeper
