// SPDX-License-Identifier: Apache-2.0
#include "jail/display.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "base/packet.h"
#include "jail/landlock.h"
#include "jail/privileges.h"
#include "jail/seccomp.h"
#include "jail/shell.h"

namespace vitrine::jail {

namespace {

constexpr const char* kFramebuffer = "/tmp/fb/Xvfb_screen0";
constexpr int kFirstListener = 3;  // SD_LISTEN_FDS_START
constexpr int kHelperSocket = 3;

int close_range(unsigned first, unsigned last, unsigned flags) {
  return static_cast<int>(::syscall(SYS_close_range, first, last, flags));
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Gives a program exactly these descriptors, from 0 on.
bool arrange(Sys& sys, const std::vector<int>& wanted) {
  constexpr int kAside = 64;
  std::vector<int> aside;
  for (int from : wanted) aside.push_back(sys(::fcntl, from, F_DUPFD_CLOEXEC, kAside));
  int to = 0;
  for (int from : aside)
    if (from < 0 || sys(::dup2, from, to++) < 0) return false;
  return sys(close_range, static_cast<unsigned>(to), ~0u, CLOSE_RANGE_CLOEXEC) == 0;
}

}  // namespace

std::uint64_t display_room_bytes(const Geometry& geometry) {
  return kPixelsOffset + geometry.bytes() + (1 << 20);
}

std::vector<std::string> server_arguments(const Geometry& geometry) {
  const std::string screen =
      std::to_string(geometry.width) + "x" + std::to_string(geometry.height) + "x24";
  return {
      "Xvfb", ":" + std::to_string(kDisplayNumber), "-screen", "0", screen, "-fbdir", "/tmp/fb",
      "-auth", "/tmp/authority",
      // GLX costs 50 MB and twice the time. Shared memory ids are of another namespace: a server
      // that took them would show the wrong memory.
      "-extension", "GLX", "-extension", "MIT-SHM", "-nocursor", "-noreset", "-nolisten", "tcp",
      "-nolisten", "local", "-nolisten", "unix", "-fp", "built-ins"};
}

Status enter_display_cgroups(DisplayBuild& build) {
  for (Fd& join_fd : build.cgroups)
    if (build.sys(::write, join_fd.get(), "0", std::size_t{1}) != 1)
      return Error::from_errno("joining a cgroup");
  build.cgroups.clear();
  return ok();
}

Status take_display_ids(DisplayBuild& build) {
  if (build.sys(::setresgid, kDisplayId, kDisplayId, kDisplayId) != 0)
    return Error::from_errno("taking the group id");
  if (build.sys(::setresuid, kDisplayId, kDisplayId, kDisplayId) != 0)
    return Error::from_errno("taking the user id");
  return ok();
}

Status mount_display_root(DisplayBuild& build) {
  if (build.sys(::mount, nullptr, "/", nullptr, static_cast<unsigned long>(MS_REC | MS_PRIVATE),
                nullptr) != 0)
    return Error::from_errno("making the mounts private");
  if (Status s = mount_tree(build.sys, mount_plan(build.plan.root), "root"); !s) return s;
  if (Status s = pivot_into(build.sys, "root"); !s) return s;
  if (build.sys(::sethostname, kHostName.data(), kHostName.size()) != 0)
    return Error::from_errno("naming the host");
  return ok();
}

Status furnish_display(DisplayBuild& build) {
  build.null = Fd(build.sys(::open, "/dev/null", O_RDWR | O_CLOEXEC, 0));
  if (!build.null) return Error::from_errno("opening /dev/null");
  for (const char* directory : {"/tmp/fb", "/tmp/.X11-unix"})
    if (build.sys(::mkdir, directory, mode_t{0700}) != 0)
      return Error::from_errno("making a directory of the display");
  if (Status s = write_authority(build.sys, "/tmp/authority", build.plan.cookie); !s) return s;
  Result<Fd> listener = listen_as_display(build.sys, "/tmp/.X11-unix");
  if (!listener) return std::move(listener.error());
  build.own_listener = std::move(*listener);
  // The server opens the file that it finds, so that we can hold it before the server runs.
  const Fd made(build.sys(::open, kFramebuffer, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const auto size = static_cast<off_t>(kPixelsOffset + build.plan.geometry.bytes());
  if (!made || build.sys(::ftruncate, made.get(), size) != 0)
    return Error::from_errno("making the framebuffer");
  build.framebuffer = Fd(build.sys(::open, kFramebuffer, O_RDONLY | O_CLOEXEC, 0));
  if (!build.framebuffer) return Error::from_errno("opening the framebuffer");
  return ok();
}

Status drop_display_privileges(DisplayBuild& build) {
  if (Status s = drop_all_privileges(build.sys); !s) return s;
  // After every change of credentials, which clear it.
  if (build.sys(::prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return Error::from_errno("asking to die with the keeper");
  return ok();
}

Status limit_display(DisplayBuild& build) {
  const std::pair<__rlimit_resource, rlim_t> limits[] = {
      {RLIMIT_CORE, 0},
      {RLIMIT_NOFILE, 512},
      {RLIMIT_FSIZE, display_room_bytes(build.plan.geometry)},
      {RLIMIT_MEMLOCK, 64 * 1024},
      {RLIMIT_MSGQUEUE, 0},
      {RLIMIT_RTPRIO, 0},
  };
  for (const auto& [resource, most] : limits) {
    const rlimit wanted{most, most};
    if (build.sys(::setrlimit, resource, &wanted) != 0)
      return Error::from_errno("setting a resource limit");
  }
  return ok();
}

Status wall_display(DisplayBuild& build) {
  Result<LandlockSupport> support = landlock_support(build.sys);
  if (!support) return std::move(support.error());
  if (support->abi > 0) {
    Result<Fd> ruleset = make_ruleset(build.sys, session_rules(*support), AT_FDCWD);
    if (!ruleset) return std::move(ruleset.error());
    if (Status s = restrict_self(build.sys, ruleset->get()); !s) return s;
  }
  return install_filter(build.sys, build.filter);
}

Status report_display(DisplayBuild& build) {
  if (build.sys.fails()) return Error::from_errno("telling the keeper");
  Status sent =
      send_packet(build.channel, std::string_view("\0ready", 6), {build.framebuffer.get()});
  build.framebuffer.reset();
  return sent;
}

Status start_screen_helper(DisplayBuild& build) {
  if (!build.helper_program) return ok();
  const pid_t pid = build.sys(::fork);
  if (pid < 0) return Error::from_errno("forking the screen helper");
  if (pid > 0) {
    build.helper_program.reset();
    build.helper_socket.reset();
    return ok();
  }
  const int null = build.null.get();
  const int program = build.helper_program.get();
  Sys unharmed;  // the room is sealed by now: a helper that cannot start is missing, and no more
  if (!arrange(unharmed, {null, null, null, build.helper_socket.get()})) ::_exit(125);
  const std::vector<std::string> argv{"vitrine-screen"};
  const std::vector<std::string> environment{"DISPLAY=:" + std::to_string(kDisplayNumber),
                                             "XAUTHORITY=/tmp/authority", "LANG=C.UTF-8",
                                             "XCOMPOSEFILE=/dev/null"};
  ::syscall(SYS_execveat, program, "", pointers(argv).data(), pointers(environment).data(),
            AT_EMPTY_PATH);
  ::_exit(126);
}

Status become_server(DisplayBuild& build) {
  const int null = build.null.get();
  static_assert(kFirstListener == 3 && kHelperSocket == 3);
  if (!arrange(build.sys, {null, null, null, build.listener.get(), build.own_listener.get()}))
    return Error::from_errno("placing descriptors");
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8",
                                             "LISTEN_PID=1", "LISTEN_FDS=2"};
  // close-on-exec closes the channel: its end tells the keeper that the server runs.
  build.sys(::execve, "/usr/bin/Xvfb", pointers(server_arguments(build.plan.geometry)).data(),
            pointers(environment).data());
  return Error::from_errno("starting Xvfb");
}

Error run_display(DisplayBuild& build) {
  for (const DisplayStep& step : kDisplaySteps)
    if (Status done = step.apply(build); !done) return std::move(done.error()).during(step.name);
  return Error{Code::internal, "the X server returned"};
}

}  // namespace vitrine::jail
