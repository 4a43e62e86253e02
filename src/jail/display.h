// SPDX-License-Identifier: Apache-2.0
// The jail of a session's X server. It is separate from the session's jail, so that session code can
// neither see nor signal the server; the session's X socket is the only connection between them.
//
// run_display() runs in a fresh process that is already pid 1 of new user, mount, pid, ipc, uts and
// network namespaces, with its ids mapped. It applies kDisplaySteps in order; the last one turns it
// into Xvfb and never returns. The screen helper is started before that, as a child in the same jail:
// it waits until it can connect. When the server ends, everything in its jail ends.
//
// Trust: the server parses bytes of session code and must be assumed to be compromised. It can reach the
//        image, read-only, and a private /tmp that holds its framebuffer.
#pragma once

#include <linux/filter.h>

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "jail/authority.h"
#include "jail/mounts.h"
#include "jail/sys.h"
#include "model/geometry.h"

namespace vitrine::jail {

inline constexpr unsigned kDisplayId = 1001;  // uid and gid inside

struct DisplayPlan {
  RootPlan root;
  Geometry geometry;
  Cookie cookie{};
  std::uint32_t fail_at = 0;
};

struct DisplayBuild {
  const DisplayPlan& plan;
  Sys sys;
  int channel;                          // SEQPACKET to the keeper: READY with {framebuffer}
  Fd listener;                          // the session's
  Fd helper_program;                    // empty: there is none
  Fd helper_socket;                     // becomes its descriptor 3
  std::vector<Fd> cgroups;              // v1 groups to join
  std::span<const sock_filter> filter;  // the base program
  Fd own_listener = {};                 // the helper's way in
  Fd framebuffer = {};
  Fd null = {};
};

struct DisplayStep {
  std::string_view name;
  Status (*apply)(DisplayBuild&);
};

Status enter_display_cgroups(DisplayBuild& build);
Status take_display_ids(DisplayBuild& build);
Status mount_display_root(DisplayBuild& build);
Status furnish_display(DisplayBuild& build);
Status drop_display_privileges(DisplayBuild& build);
Status limit_display(DisplayBuild& build);
Status wall_display(DisplayBuild& build);
Status report_display(DisplayBuild& build);
Status start_screen_helper(DisplayBuild& build);
Status become_server(DisplayBuild& build);

inline constexpr std::array kDisplaySteps{
    DisplayStep{"cgroups", enter_display_cgroups},
    DisplayStep{"ids", take_display_ids},
    DisplayStep{"root", mount_display_root},
    DisplayStep{"furniture", furnish_display},
    DisplayStep{"privileges", drop_display_privileges},
    DisplayStep{"resource limits", limit_display},
    DisplayStep{"walls", wall_display},
    DisplayStep{"ready", report_display},
    DisplayStep{"screen helper", start_screen_helper},
    DisplayStep{"server", become_server},
};

// The size of its private /tmp: the framebuffer, its locks and the compiled keymap.
std::uint64_t display_room_bytes(const Geometry& geometry);
inline constexpr std::uint64_t kDisplayInodes = 64;

// The command line, for a reviewer and a test.
std::vector<std::string> server_arguments(const Geometry& geometry);

// Never returns a success.
Error run_display(DisplayBuild& build);

}  // namespace vitrine::jail
