// SPDX-License-Identifier: Apache-2.0
// What isolation this host gives us, tried and not guessed, with the command that mends what is
// missing. Changes nothing: what is tried is tried in children that end.
#pragma once

#include <string>
#include <vector>

#include "jail/cgroup_host.h"
#include "keeper/options.h"
#include "model/level.h"

namespace vitrine::keeper {

struct Diagnosis {
  bool full = false;  // a whole jail is possible, with enforced limits
  // {"full", "limits_level", "checks": [{"name", "state": ok|missing|note, "detail", "remedy"}]}
  std::string json;
};

Diagnosis diagnose(const Options& options);

// Limits, by their names in the API, that a session's code can get around on this host.
std::vector<std::string> best_effort_limits(Level level, const jail::CgroupHost& host);
LimitsLevel limits_level(Level level, const jail::CgroupHost& host);

// Kinds of namespaces and mounts that the full jail is made of and this host lacks.
std::vector<std::string> missing_for_full_jail();

// What sessions do not have at Level::container; SECURITY.md says more.
inline constexpr const char* kLostOnTheFloor[] = {
    "memory is limited per process, not per session, and cpu time and disk space not at all",
    "no pid namespace: sessions cannot signal or inspect others, but can tell that processes exist",
    "no mounts of their own: one read-only image for all, no /tmp, no /dev/shm, no /proc, no "
    "terminals",
    "no network namespace: sessions can make no sockets at all, not even on loopback; so no "
    "display "
    "and no packages of their own either",
    "warm interpreters run as the container's root, with three of its capabilities, until they "
    "fork",
    "a hole in the kernel, or in Docker's wall around this container, is closer: fewer layers "
    "stand before it",
};

}  // namespace vitrine::keeper
