// SPDX-License-Identifier: Apache-2.0
#include "jail/shell.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include "base/packet.h"
#include "jail/landlock.h"
#include "jail/privileges.h"

namespace vitrine::jail {

namespace {

int pivot_root(const char* new_root, const char* put_old) {
  return static_cast<int>(::syscall(SYS_pivot_root, new_root, put_old));
}

int execveat(int fd, const char* path, char* const argv[], char* const envp[], int flags) {
  return static_cast<int>(::syscall(SYS_execveat, fd, path, argv, envp, flags));
}

Status apply_bind(Sys& sys, const Mount& mount, const std::string& source,
                  const std::string& target) {
  if (sys(::mount, source.c_str(), target.c_str(), nullptr, static_cast<unsigned long>(MS_BIND),
          nullptr) != 0) {
    if (mount.optional && errno == ENOENT) return ok();
    return Error::from_errno("binding " + mount.target);
  }
  if (mount.flags != 0 && sys(::mount, nullptr, target.c_str(), nullptr,
                              MS_REMOUNT | MS_BIND | mount.flags, nullptr) != 0)
    return Error::from_errno("setting the flags of " + mount.target);
  return ok();
}

constexpr const char* kUserSettings = "root/proc/sys/user/max_";

}  // namespace

Status enter_cgroups(ShellBuild& build) {
  for (Fd& join_fd : build.cgroups)
    if (build.sys(::write, join_fd.get(), "0", std::size_t{1}) != 1)
      return Error::from_errno("joining a cgroup");
  build.cgroups.clear();
  return ok();
}

Status take_sandbox_ids(ShellBuild& build) {
  const auto gid = kSandboxId;
  if (build.sys(::setresgid, gid, gid, gid) != 0) return Error::from_errno("taking the group id");
  if (build.sys(::setresuid, gid, gid, gid) != 0) return Error::from_errno("taking the user id");
  return ok();
}

Status make_mounts_private(ShellBuild& build) {
  if (build.sys(::mount, nullptr, "/", nullptr, static_cast<unsigned long>(MS_REC | MS_PRIVATE),
                nullptr) != 0)
    return Error::from_errno("making the mounts private");
  return ok();
}

Status mount_tree(Sys& sys, const std::vector<Mount>& mounts, const std::string& root) {
  for (const Mount& mount : mounts) {
    const std::string target = root + "/" + mount.target;
    switch (mount.kind) {
      case MountKind::filesystem:
        if (sys(::mount, mount.source.c_str(), target.c_str(), mount.type.c_str(), mount.flags,
                static_cast<const void*>(mount.options.c_str())) != 0)
          return Error::from_errno("mounting " + mount.type + " on /" + mount.target);
        break;
      case MountKind::directory:
        if (sys(::mkdir, target.c_str(), static_cast<mode_t>(mount.flags)) != 0 ||
            sys(::chmod, target.c_str(), static_cast<mode_t>(mount.flags)) != 0)
          return Error::from_errno("making the directory " + mount.target);
        break;
      case MountKind::bind:
        if (Status done = apply_bind(sys, mount, mount.source, target); !done) return done;
        break;
      case MountKind::rebind:
        if (Status done = apply_bind(sys, mount, root + "/" + mount.source, target); !done)
          return done;
        break;
    }
  }
  return ok();
}

Status pivot_into(Sys& sys, const char* root) {
  if (sys(::chdir, root) != 0) return Error::from_errno("entering the new root");
  if (sys(pivot_root, ".", ".") != 0) return Error::from_errno("changing the root");
  if (sys(::umount2, ".", MNT_DETACH) != 0) return Error::from_errno("letting go of the old root");
  if (sys(::chdir, "/") != 0) return Error::from_errno("entering /");
  return ok();
}

Status mount_root(ShellBuild& build) {
  return mount_tree(build.sys, mount_plan(build.plan.root), "root");
}

Status forbid_namespaces(ShellBuild& build) {
  for (const char* kind : {"user", "mnt", "pid", "net", "uts", "cgroup", "time"}) {
    const std::string path = std::string(kUserSettings) + kind + "_namespaces";
    Fd file(build.sys(::open, path.c_str(), O_WRONLY | O_CLOEXEC, 0));
    const bool one = std::string_view(kind) == "cgroup";
    if (!file || build.sys(::write, file.get(), one ? "1" : "0", std::size_t{1}) != 1)
      return Error::from_errno(std::string("forbidding new ") + kind + " namespaces");
  }
  return ok();
}

Status limit_inotify(ShellBuild& build) {
  constexpr std::pair<const char*, std::string_view> kLimits[] = {{"instances", "4"},
                                                                  {"watches", "2048"}};
  for (const auto& [what, most] : kLimits) {
    const std::string path = std::string(kUserSettings) + "inotify_" + what;
    Fd file(build.sys(::open, path.c_str(), O_WRONLY | O_CLOEXEC, 0));
    if (!file && errno == ENOENT) continue;  // a kernel without inotify
    if (!file || build.sys(::write, file.get(), most.data(), most.size()) < 0)
      return Error::from_errno("limiting inotify");
  }
  return ok();
}

Status protect_settings(ShellBuild& build) {
  return mount_tree(build.sys, settings_mounts(), "root");
}

Status enter_root(ShellBuild& build) { return pivot_into(build.sys, "root"); }

Status name_host(ShellBuild& build) {
  if (build.sys(::sethostname, kHostName.data(), kHostName.size()) != 0)
    return Error::from_errno("naming the host");
  return ok();
}

Status open_home(ShellBuild& build) {
  build.home = Fd(build.sys(::open, "/home/sandbox", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
  if (!build.home) return Error::from_errno("opening the home directory");
  return ok();
}

// Nothing answers there yet: whoever connects waits until the keeper has had an X server started.
Status open_display(ShellBuild& build) {
  if (build.sys(::getrandom, build.cookie.data(), build.cookie.size(), 0u) !=
      static_cast<ssize_t>(build.cookie.size()))
    return Error::from_errno("asking for random bytes");
  const std::string directory = kDisplayDirectory;
  if (Status s = write_authority(build.sys, directory + "/authority", build.cookie); !s) return s;
  Result<Fd> listener = listen_as_display(build.sys, directory);
  if (!listener) return std::move(listener.error());
  build.display = std::move(*listener);
  constexpr unsigned long kFlags = MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (build.sys(::mount, nullptr, kDisplayDirectory, nullptr, kFlags, nullptr) != 0)
    return Error::from_errno("closing the display's directory");
  return ok();
}

Status prepare_landlock(ShellBuild& build) {
  Result<LandlockSupport> support = landlock_support(build.sys);
  if (!support) return std::move(support.error());
  if (support->abi == 0) return ok();  // told by info; namespaces and seccomp still hold
  Result<Fd> ruleset = make_ruleset(build.sys, session_rules(*support), AT_FDCWD);
  if (!ruleset) return std::move(ruleset.error());
  build.ruleset = std::move(*ruleset);
  return ok();
}

Status enter_cgroup_namespace(ShellBuild& build) {
  if (build.sys(::unshare, CLONE_NEWCGROUP) != 0)
    return Error::from_errno("making the cgroup namespace");
  return ok();
}

Status drop_privileges(ShellBuild& build) { return drop_all_privileges(build.sys); }

Status die_with_keeper(ShellBuild& build) {
  // After every change of credentials, which clear it. A keeper that died before is found by the
  // send that follows.
  if (build.sys(::prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return Error::from_errno("asking to die with the keeper");
  return ok();
}

Status report_ready(ShellBuild& build) {
  std::vector<int> fds{build.home.get(), build.display.get()};
  if (build.ruleset) fds.push_back(build.ruleset.get());
  if (build.sys.fails()) return Error::from_errno("telling the keeper");
  const std::string_view cookie(reinterpret_cast<const char*>(build.cookie.data()),
                                build.cookie.size());
  return send_packet(build.channel, std::string("\0ready", 6).append(cookie), fds);
}

Status become_init(ShellBuild& build) {
  // close-on-exec closes all the rest, the channel too: its end tells the keeper that pid 1 stands.
  static char name[] = "init";
  char* argv[] = {name, nullptr};
  char* envp[] = {nullptr};
  build.sys(execveat, build.init_program, "", argv, envp, AT_EMPTY_PATH);
  return Error::from_errno("becoming init");
}

Error build_shell(ShellBuild& build) {
  for (const ShellStep& step : kShellSteps)
    if (Status done = step.apply(build); !done) return std::move(done.error()).during(step.name);
  return Error{Code::internal, "init returned"};
}

}  // namespace vitrine::jail
