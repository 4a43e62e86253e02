// SPDX-License-Identifier: Apache-2.0
// The weaker isolation for hosts that forbid namespaces: the steps of a zygote and its workers there.
//
// All sessions share one root directory (the image, entered by chroot), one pid, network and ipc
// namespace. What holds a session is a user id of its own, a home that only this id may enter, Landlock,
// more of seccomp, and resource limits. SECURITY.md lists what is lost. The tables stand in the place of
// kShellSteps and kWorkerSteps; any failure must end the process here, too.
//
// Needs: CAP_SYS_CHROOT, SETUID, SETGID, SETPCAP, as a container's root has them.
#pragma once

#include <array>

#include "jail/worker.h"

namespace vitrine::jail {

// Below the image's root: one directory per session, with home/ and tmp/ in it.
inline constexpr std::string_view kFloorHomes = "/home/sandbox";

Status enter_floor_home(WorkerEntry& entry);
Status become_session_user(WorkerEntry& entry);

inline constexpr std::array kFloorSteps{
    WorkerStep{"descriptors", place_descriptors},
    WorkerStep{"stdin", open_stdin},
    WorkerStep{"session ids", become_session_user},
    WorkerStep{"home", enter_floor_home},
    WorkerStep{"resource limits", set_resource_limits},
    WorkerStep{"privileges", drop_worker_privileges},
    WorkerStep{"landlock", enter_landlock},
    WorkerStep{"seccomp", install_seccomp},
};

// As enter(), for a plan with a user.
Status enter_floor(WorkerEntry& entry);

// What a zygote does before it becomes Python: `root` is the image's, and every capability is dropped
// for good but those that its workers need to drop the rest.
Status enter_floor_root(Sys& sys, int root);

}  // namespace vitrine::jail
