// SPDX-License-Identifier: Apache-2.0
// What this host gives the keeper: the level of isolation, user ids, cgroups, Landlock.
//
// Never weaker than the operator allows, and never weaker without a word in the log.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/result.h"
#include "jail/cgroup_host.h"
#include "jail/cgroup_tree.h"
#include "keeper/options.h"
#include "model/host_ids.h"
#include "model/keeper_info.h"
#include "model/level.h"

namespace vitrine::keeper {

// Of the whole process, before a Keeper starts: signals, umask, groups, limits, no dumps.
Status prepare_process();

struct Host {
  Level level = Level::full;
  std::optional<HostIds> ids = {};  // as root; none = everything runs with the keeper's own
  jail::CgroupHost cgroups = {};
  std::optional<jail::CgroupTree> tree = {};  // of this keeper; none = there are no cgroups for it
  int landlock = 0;                           // the version of its interface; 0 = there is none
};

// The level, and as root the ids.
Status choose_level(Host& host, const Options& options);
// The rest. It removes the cgroups that an earlier keeper of this name left, and all that is in them.
Status detect_host(Host& host, const Options& options);

IsolationInfo isolation_info(const Host& host, const Options& options);

// Where the front puts packages: below the data directory, for that user. Readable for all who can get
// there, which through the data directory nobody can: the builder has it as a mount of its own.
Status prepare_layers(const Options& options, std::optional<uid_t> user);

}  // namespace vitrine::keeper
