// SPDX-License-Identifier: Apache-2.0
// Making a process in namespaces of its own: the clone, the descriptors it leaves behind, and the maps of
// its ids, which only somebody outside may write.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"
#include "jail/sys.h"

namespace vitrine::keeper {

// fork(2) with namespace flags; the child's glibc state is only good for system calls and exec.
pid_t clone_process(std::uint64_t flags, int cgroup = -1);

int close_all(unsigned first, unsigned last);

inline constexpr std::uint32_t kMaps = 3;  // writes of map_ids
// `proc` is a directory of a /proc that numbers processes as the caller does.
Status map_ids(jail::Sys& sys, int proc, pid_t pid, unsigned inside, std::uint32_t outside,
               std::uint32_t count);

}  // namespace vitrine::keeper
