// SPDX-License-Identifier: Apache-2.0
// The process isolation with everything it stands on: shells, zygotes, displays, proxies, file servers.
//
// Ownership: it owns those parts and their processes. Programs, filters, cgroups and the reaper are the
//            keeper's and must outlive it.
// Threading: the keeper's loop.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "keeper/environments.h"
#include "keeper/host.h"
#include "keeper/options.h"
#include "keeper/process/process_isolation.h"
#include "keeper/programs.h"

namespace vitrine::keeper {

class ProcessBackend {
 public:
  ProcessBackend(Loop& loop, Reaper& reaper, const Options& options)
      : loop_(loop), reaper_(reaper), options_(options), files_(loop, reaper) {}

  // Starts the builder and what else is needed to make sessions.
  Status start(Host& host, const Programs& programs, const SealedFilters& filters);
  // Warms the zygotes, then fills the pools; `warm` is called once, when the first session can be made.
  void warm_up(std::function<void(Status)> warm);

  ProcessIsolation& isolation() { return *isolation_; }
  void describe(KeeperInfo& info) const;

  // Ends what waits; sessions must have been ended. Then stop_shells() until is_stopped().
  void stop();
  bool is_empty() const { return !shells_ || shells_->alive() == 0; }
  void stop_shells();
  bool is_stopped() const { return !shells_ || shells_->stopped(); }

 private:
  void make_shells(Host& host, const Programs& programs, const SealedFilters& filters);
  Capabilities capabilities(const Host& host, const Programs& programs) const;

  Loop& loop_;
  Reaper& reaper_;
  const Options& options_;
  std::map<std::string, Environment> environments_;  // the operator's
  FileServers files_;
  std::unique_ptr<Shells> shells_;
  std::optional<Zygotes> zygotes_;
  std::optional<Displays> displays_;
  std::optional<Egress> egress_;
  std::optional<CpuPlacement> placement_;
  std::optional<CpuFairness> fairness_;
  std::optional<ProcessIsolation> isolation_;
};

}  // namespace vitrine::keeper
