// SPDX-License-Identifier: Apache-2.0
// Entering a shell: what a freshly forked worker does to itself before it may run a line of Python.
//
// The process is a child of the zygote, already in the shell's pid namespace, with one thread and
// full capabilities in the outer user namespace. kWorkerSteps takes all of that away, in order;
// seccomp is last because it forbids the calls the others make, and the oom score comes before any
// change of ids, which would forbid it. Any failure must end the process.
#pragma once

#include <linux/filter.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/fd.h"
#include "jail/mounts.h"
#include "jail/sys.h"

namespace vitrine::jail {

enum class Scratch {
  kept,   // the shell is new: its scratch space was never used
  fresh,  // the shell is recycled: new scratch filesystem, ipc namespace and Landlock rules, unless
          // the kernel says that nobody left anything in the old ones
};

struct WorkerPlan {
  Scratch scratch = Scratch::kept;
  std::uint64_t disk_bytes = 0;
  std::uint64_t inodes = 0;
  std::uint64_t processes = 0;
  std::uint64_t data_bytes = 0;       // RLIMIT_DATA, where no cgroup limits memory; 0 = none
  std::uint32_t uses = 0;             // workers that the shell has had before
  std::uint64_t ruleset_scratch = 0;  // filesystem_id() of what the ruleset names; 0 = not known
  std::uint32_t user = 0;             // without namespaces: the session's own id; see jail/floor.h
  std::uint32_t fail_at = 0;
};

inline constexpr std::size_t kMaxCgroups = 8;

struct WorkerEntry {
  const WorkerPlan& plan;
  Sys sys;
  Fd shell;                             // pidfd of the shell's init; without namespaces its home
  Fd ruleset;                           // Landlock; empty where there is none
  Fd socket;                            // the session socket
  Fd out;                               // becomes fd 1
  Fd err;                               // becomes fd 2
  std::array<Fd, kMaxCgroups> cgroups;  // v1 groups to join; see jail/cgroup.h
  std::span<const sock_filter> filter;
};

// The worker's number in a shell, whose init is 1.
inline constexpr int kWorkerPid = 2;

// Where the session socket stays: high, so that closing "all" low descriptors does not hit it.
inline constexpr int kSessionSocket = 1023;
inline constexpr int kMaxDescriptors = 1024;

struct WorkerStep {
  std::string_view name;
  Status (*apply)(WorkerEntry&);
};

Status enter_worker_cgroups(WorkerEntry& entry);
Status place_descriptors(WorkerEntry& entry);
Status join_namespaces(WorkerEntry& entry);
Status refresh_scratch(WorkerEntry& entry);
Status enter_home(WorkerEntry& entry);
Status open_stdin(WorkerEntry& entry);
Status offer_to_oom_killer(WorkerEntry& entry);
Status become_sandbox(WorkerEntry& entry);
Status set_resource_limits(WorkerEntry& entry);
Status drop_worker_privileges(WorkerEntry& entry);
Status enter_landlock(WorkerEntry& entry);
Status install_seccomp(WorkerEntry& entry);

inline constexpr std::array kWorkerSteps{
    WorkerStep{"cgroups", enter_worker_cgroups},
    WorkerStep{"descriptors", place_descriptors},
    WorkerStep{"namespaces", join_namespaces},
    WorkerStep{"oom score", offer_to_oom_killer},
    WorkerStep{"scratch", refresh_scratch},
    WorkerStep{"home", enter_home},
    WorkerStep{"stdin", open_stdin},
    WorkerStep{"sandbox ids", become_sandbox},
    WorkerStep{"resource limits", set_resource_limits},
    WorkerStep{"privileges", drop_worker_privileges},
    WorkerStep{"landlock", enter_landlock},
    WorkerStep{"seccomp", install_seccomp},
};

// Of the filesystem that a descriptor is in, never used again while the machine runs; 0 = not known
// (Linux before 5.17). Device numbers are of no use: a new filesystem gets that of an old one.
std::uint64_t filesystem_id(int fd);

// After success the process holds exactly 0, 1, 2 and kSessionSocket.
Status enter(WorkerEntry& entry);

}  // namespace vitrine::jail
