// SPDX-License-Identifier: Apache-2.0
#include "jail/floor.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace vitrine::jail {

namespace {

int control(int option, unsigned long value) { return ::prctl(option, value, 0UL, 0UL, 0UL); }

bool workers_need(unsigned long capability) {
  return capability == CAP_SETUID || capability == CAP_SETGID || capability == CAP_SETPCAP;
}

}  // namespace

Status enter_floor_home(WorkerEntry& entry) {
  if (entry.sys(::fchdir, entry.shell.get()) != 0) return Error::from_errno("entering the home");
  entry.shell.reset();
  char cwd[128];
  if (entry.sys(::getcwd, cwd, sizeof cwd) == nullptr ||
      !std::string_view(cwd).starts_with(kFloorHomes))
    return Error{Code::internal, "the working directory is not inside the session"};
  return ok();
}

Status become_session_user(WorkerEntry& entry) {
  const uid_t user = entry.plan.user;
  if (user == 0) return Error{Code::internal, "the session has no user id"};
  // Without this a change of ids would take the capability that the next steps need.
  if (entry.sys(control, PR_SET_SECUREBITS, static_cast<unsigned long>(SECBIT_NO_SETUID_FIXUP)) !=
      0)
    return Error::from_errno("keeping capabilities for the next steps");
  if (entry.sys(::setgroups, std::size_t{0}, nullptr) != 0)
    return Error::from_errno("dropping groups");
  if (entry.sys(::setresgid, user, user, user) != 0)
    return Error::from_errno("taking the group id");
  if (entry.sys(::setresuid, user, user, user) != 0) return Error::from_errno("taking the user id");
  if (entry.sys(::setsid) < 0) return Error::from_errno("starting a session of its own");
  ::umask(022);  // cannot fail; nobody else can enter the home
  return ok();
}

Status enter_floor(WorkerEntry& entry) {
  for (const WorkerStep& step : kFloorSteps)
    if (Status done = step.apply(entry); !done) return std::move(done.error()).during(step.name);
  return ok();
}

Status enter_floor_root(Sys& sys, int root) {
  if (sys(::fchdir, root) != 0 || sys(::chroot, ".") != 0)
    return Error::from_errno("changing the root")
        .with_remedy(
            "start the container with the capability SYS_CHROOT, which is one of Docker's own");
  if (sys(::chdir, "/home/sandbox") != 0) return Error::from_errno("entering the home");
  for (unsigned long capability = 0; capability < 64; ++capability) {
    if (workers_need(capability) || sys(control, PR_CAPBSET_DROP, capability) == 0) continue;
    if (errno == EINVAL && capability > CAP_WAKE_ALARM) break;  // beyond the kernel's last one
    return Error::from_errno("dropping a capability from the bounding set");
  }
  // What root gets by exec is bounded by that set; nothing else may add to it.
  if (sys(control, PR_SET_NO_NEW_PRIVS, 1UL) != 0) return Error::from_errno("setting no_new_privs");
  return ok();
}

}  // namespace vitrine::jail
