// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/shells.h"

#include <utility>

namespace vitrine::keeper {

std::shared_ptr<const WorkerFds::Meters> open_meters(const Shell& shell) {
  if (!shell.cgroup) return nullptr;
  jail::Cgroup::Meters meters = shell.cgroup->open_meters();
  if (!meters.cpu || !meters.memory) return nullptr;
  return std::make_shared<const WorkerFds::Meters>(WorkerFds::Meters{
      .cpu_time = std::move(meters.cpu), .memory_peak = std::move(meters.memory)});
}

}  // namespace vitrine::keeper
