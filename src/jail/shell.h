// SPDX-License-Identifier: Apache-2.0
// A shell: the sealed, empty jail of a session (namespaces, mounts, pid 1) before any Python runs in it.
//
// build_shell() runs in a fresh process that is already pid 1 of new user, mount, pid, ipc and uts
// namespaces, with its ids mapped, and a network namespace that its parent owns. It applies
// kShellSteps in order; the last one turns the process into vitrine-init and never returns. Any step
// that fails ends the process: there is no partial shell.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/fd.h"
#include "jail/authority.h"
#include "jail/mounts.h"
#include "jail/sys.h"

namespace vitrine::jail {

inline constexpr unsigned kSandboxId = 1000;  // uid and gid of session code, inside

struct ShellPlan {
  RootPlan root;
  std::uint32_t fail_at = 0;  // fault injection, see Sys
};

// What the process needs while it builds; descriptors are the caller's.
struct ShellBuild {
  const ShellPlan& plan;
  Sys sys;
  int init_program;  // a sealed memfd
  int channel;       // SEQPACKET to the keeper: READY with {home, display, ruleset} goes there
  std::vector<Fd> cgroups;  // v1 groups to join; see jail/cgroup.h
  Fd home;
  Fd display;     // listens where the session's programs look for an X server
  Cookie cookie;  // what they must present to it
  Fd ruleset;     // Landlock; empty where the kernel has none
};

struct ShellStep {
  std::string_view name;
  Status (*apply)(ShellBuild&);
};

Status enter_cgroups(ShellBuild& build);
Status take_sandbox_ids(ShellBuild& build);
Status make_mounts_private(ShellBuild& build);
// The whole tree but for settings_mounts(): the two steps that follow still write there.
Status mount_root(ShellBuild& build);
// No descendant of this session makes a namespace, whatever a filter forgets. IPC is left out: a recycled
// shell gets a fresh one. One cgroup namespace is left, for enter_cgroup_namespace().
Status forbid_namespaces(ShellBuild& build);
// The kernel counts inotify objects for the user on the host, too: without a limit, one session takes
// them all from its neighbours and from the host itself.
Status limit_inotify(ShellBuild& build);
Status protect_settings(ShellBuild& build);
Status enter_root(ShellBuild& build);
Status name_host(ShellBuild& build);
Status open_home(ShellBuild& build);
Status open_display(ShellBuild& build);
Status prepare_landlock(ShellBuild& build);
Status enter_cgroup_namespace(ShellBuild& build);
Status drop_privileges(ShellBuild& build);
Status die_with_keeper(ShellBuild& build);
Status report_ready(ShellBuild& build);
Status become_init(ShellBuild& build);

// Limits that live in /proc/sys are set between its mount and protect_settings(), which makes it
// read-only; init comes last because it drops everything else.
inline constexpr std::array kShellSteps{
    ShellStep{"cgroups", enter_cgroups},
    ShellStep{"sandbox ids", take_sandbox_ids},
    ShellStep{"private mounts", make_mounts_private},
    ShellStep{"root", mount_root},
    ShellStep{"namespaces", forbid_namespaces},
    ShellStep{"inotify", limit_inotify},
    ShellStep{"settings", protect_settings},
    ShellStep{"pivot", enter_root},
    ShellStep{"host name", name_host},
    ShellStep{"home", open_home},
    ShellStep{"display", open_display},
    ShellStep{"landlock rules", prepare_landlock},
    ShellStep{"cgroup namespace", enter_cgroup_namespace},
    ShellStep{"privileges", drop_privileges},
    ShellStep{"parent death", die_with_keeper},
    ShellStep{"ready", report_ready},
    ShellStep{"init", become_init},
};

// Never returns a success.
Error build_shell(ShellBuild& build);

// Mounts `plan` over the directory `root` of the working directory (the staging directory) and makes
// it the root. Shared with the zygote, which lives in a root of its own.
Status mount_tree(Sys& sys, const std::vector<Mount>& mounts, const std::string& root);
Status pivot_into(Sys& sys, const char* root);

}  // namespace vitrine::jail
