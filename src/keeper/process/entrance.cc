// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/entrance.h"

#include <utility>

namespace vitrine::keeper {

Result<std::shared_ptr<const Entrance>> open_entrance(const Shells& shells, const Shell& shell) {
  auto entrance = std::make_shared<Entrance>();
  Result<Fd> join = shells.join_fd(shell);
  if (!join) return Error{Code::over_limit, "no descriptors are left for a worker"};
  entrance->join = std::move(*join);
  if (shell.cgroup && shells.delegated()) {
    Result<jail::CgroupEntrance> cgroups =
        shell.cgroup->open_entrance(jail::Cgroup::Member::worker);
    if (!cgroups) return std::move(cgroups.error());
    entrance->cgroups = std::move(*cgroups);
  }
  return std::shared_ptr<const Entrance>(std::move(entrance));
}

}  // namespace vitrine::keeper
