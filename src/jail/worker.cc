// SPDX-License-Identifier: Apache-2.0
#include "jail/worker.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "jail/landlock.h"
#include "jail/privileges.h"
#include "jail/seccomp.h"
#include "jail/shell.h"

namespace vitrine::jail {

namespace {

int close_range(unsigned first, unsigned last, unsigned flags) {
  return static_cast<int>(::syscall(SYS_close_range, first, last, flags));
}

// Two descriptors that only live until the namespaces are joined.
constexpr int kShell = 3;
constexpr int kRuleset = 4;

// Moves `from` to `to`; the copy survives close_range.
Status place(Sys& sys, Fd& from, int to, int flags) {
  if (sys(::dup3, from.get(), to, flags) != to) return Error::from_errno("placing a descriptor");
  return ok();
}

}  // namespace

Status enter_worker_cgroups(WorkerEntry& entry) {
  for (Fd& join_fd : entry.cgroups) {
    if (!join_fd) continue;
    if (entry.sys(::write, join_fd.get(), "0", std::size_t{1}) != 1)
      return Error::from_errno("joining a cgroup");
    join_fd.reset();
  }
  return ok();
}

Status place_descriptors(WorkerEntry& entry) {
  // First out of the low range, where the targets are, then down to their places.
  for (Fd* fd : {&entry.shell, &entry.ruleset, &entry.socket, &entry.out, &entry.err}) {
    if (!*fd) continue;
    const int high = entry.sys(::fcntl, fd->get(), F_DUPFD_CLOEXEC, 64);
    if (high < 0) return Error::from_errno("moving a descriptor");
    *fd = Fd(high);
  }
  if (Status s = place(entry.sys, entry.out, 1, 0); !s) return s;
  if (Status s = place(entry.sys, entry.err, 2, 0); !s) return s;
  if (Status s = place(entry.sys, entry.socket, kSessionSocket, O_CLOEXEC); !s) return s;
  if (Status s = place(entry.sys, entry.shell, kShell, O_CLOEXEC); !s) return s;
  const bool landlock = static_cast<bool>(entry.ruleset);
  if (landlock)
    if (Status s = place(entry.sys, entry.ruleset, kRuleset, O_CLOEXEC); !s) return s;
  for (Fd* fd : {&entry.shell, &entry.ruleset, &entry.socket, &entry.out, &entry.err})
    fd->release();  // close_range is about to close what they named
  if (entry.sys(close_range, landlock ? kRuleset + 1u : kShell + 1u, kSessionSocket - 1u, 0u) !=
          0 ||
      entry.sys(close_range, kSessionSocket + 1u, ~0u, 0u) != 0)
    return Error::from_errno("closing other descriptors");
  entry.shell = Fd(kShell);
  if (landlock) entry.ruleset = Fd(kRuleset);
  return ok();
}

Status join_namespaces(WorkerEntry& entry) {
  constexpr int kAll =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  if (entry.sys(::setns, entry.shell.get(), kAll) != 0)
    return Error::from_errno("joining the shell's namespaces");
  entry.shell.reset();
  return ok();
}

namespace {

struct ScratchDirectory {
  const char* path;
  mode_t mode;
};
// As scratch_mounts() makes them. With the root of the filesystem, which /tmp covers, and the place
// for the display, which a mount covers that cannot be taken away, these are all.
constexpr ScratchDirectory kScratch[] = {
    {"/home/sandbox", 0755}, {"/dev/shm", 01777}, {"/tmp", 01777}, {"/tmp/.runtime", 0700}};
constexpr fsfilcnt_t kScratchInodes = std::size(kScratch) + 2;

// As it was made: owner, mode, no attributes. Its times, which tell a tale too, are set to now.
bool is_as_made(const ScratchDirectory& made) {
  const Fd directory(::open(made.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!directory || ::fstat(directory.get(), &info) != 0) return false;
  int flags = 0;  // those of chattr
  if (::ioctl(directory.get(), FS_IOC_GETFLAGS, &flags) != 0) flags = 0;
  return info.st_mode == (S_IFDIR | made.mode) && info.st_uid == kSandboxId &&
         info.st_gid == kSandboxId && flags == 0 &&
         ::flistxattr(directory.get(), nullptr, 0) == 0 &&
         ::futimens(directory.get(), nullptr) == 0;
}

// The number of the next inode: the filesystem counts them up, so it tells how many there ever were,
// and so do the places of files in a directory.
std::uint64_t take_inode_number() {
  const Fd file(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  struct stat info {};
  return file && ::fstat(file.get(), &info) == 0 ? info.st_ino : 0;
}

// Nothing is left of earlier workers in the scratch space: one filesystem, in which no block and no
// inode is used but those it was made with (what extended attributes and open files need counts,
// too), whose directories are as they were made, and which never held anything else: not even what
// was removed again. Each look takes one inode; how many there were is known from the use of the
// shell that made the filesystem, which is in its size (see refresh_scratch).
bool is_untouched(const WorkerPlan& plan) {
  struct statfs space {};
  if (::statfs("/tmp", &space) != 0 || space.f_type != TMPFS_MAGIC ||
      space.f_bfree != space.f_blocks || space.f_ffree + kScratchInodes != space.f_files ||
      space.f_files < plan.inodes || space.f_files >= plan.inodes + plan.uses)
    return false;
  const std::uint64_t looks = plan.inodes + plan.uses - space.f_files;  // this one included
  return std::ranges::all_of(kScratch, is_as_made) && take_inode_number() == kScratchInodes + looks;
}

// Rules name inodes: those of a scratch space that was replaced are of no use.
Status renew_ruleset(WorkerEntry& entry) {
  if (!entry.ruleset) return ok();
  Result<LandlockSupport> support = landlock_support(entry.sys);
  if (!support) return std::move(support.error());
  Result<Fd> ruleset = make_ruleset(entry.sys, session_rules(*support), AT_FDCWD);
  if (!ruleset) return std::move(ruleset.error());
  entry.ruleset = std::move(*ruleset);
  return ok();
}

bool is_ruleset_good(const WorkerEntry& entry) {
  const Fd home(::open("/home/sandbox", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::uint64_t wanted = entry.plan.ruleset_scratch;
  return wanted != 0 && home && filesystem_id(home.get()) == wanted;
}

}  // namespace

std::uint64_t filesystem_id(int fd) {
  struct statfs info {};
  if (::fstatfs(fd, &info) != 0) return 0;
  std::uint64_t id = 0;
  static_assert(sizeof id == sizeof info.f_fsid);
  std::memcpy(&id, &info.f_fsid, sizeof id);
  return id;
}

namespace {

// Numbers of processes are counted up; the next one must not tell how many there were.
Status reset_process_numbers(WorkerEntry& entry) {
  constexpr unsigned long kFlags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC;
  const auto remount = [&](unsigned long flags) {
    return entry.sys(::mount, nullptr, "/proc/sys", nullptr, flags, nullptr);
  };
  if (remount(kFlags) != 0) return Error::from_errno("opening the kernel's settings");
  const std::string last = std::to_string(kWorkerPid);
  Fd file(entry.sys(::open, "/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC, 0));
  if (!file || entry.sys(::write, file.get(), last.data(), last.size()) < 0)
    return Error::from_errno("setting the last process number");
  file.reset();  // one that is open for writing would keep the mount as it is
  if (remount(kFlags | MS_RDONLY) != 0) return Error::from_errno("closing the kernel's settings");
  return ok();
}

}  // namespace

Status refresh_scratch(WorkerEntry& entry) {
  if (entry.plan.scratch == Scratch::kept) return ok();
  // New files must belong to the sandbox's ids: the ones this process has are not mapped here.
  if (entry.sys(::setresgid, kSandboxId, kSandboxId, kSandboxId) != 0 ||
      entry.sys(::setresuid, kSandboxId, kSandboxId, kSandboxId) != 0)
    return Error::from_errno("taking the sandbox ids");
  if (Status s = reset_process_numbers(entry); !s) return s;
  // Always: its identifiers are counted up, too, and cannot be looked at without taking one.
  if (entry.sys(::unshare, CLONE_NEWIPC) != 0) return Error::from_errno("making an ipc namespace");
  // Most code leaves nothing; unmounting waits long for all other users of mounts on the machine.
  if (is_untouched(entry.plan)) return is_ruleset_good(entry) ? ok() : renew_ruleset(entry);
  // The display is not part of it: somebody outside listens there.
  constexpr const char* kAside = "/run";
  if (entry.sys(::mount, kDisplayDirectory, kAside, nullptr, MS_MOVE, nullptr) != 0)
    return Error::from_errno("putting the display aside");
  for (const char* target : {"/home/sandbox", "/dev/shm", "/tmp", "/tmp"})
    if (entry.sys(::umount2, target, MNT_DETACH) != 0)
      return Error::from_errno("removing the old scratch space");
  const RootPlan root{.disk_bytes = entry.plan.disk_bytes,
                      .inodes = entry.plan.inodes + entry.plan.uses};
  if (Status s = mount_tree(entry.sys, scratch_mounts(root), ""); !s) return s;
  if (entry.sys(::mount, kAside, kDisplayDirectory, nullptr, MS_MOVE, nullptr) != 0)
    return Error::from_errno("putting the display back");
  return renew_ruleset(entry);
}

Status enter_home(WorkerEntry& entry) {
  if (entry.sys(::chdir, "/home/sandbox") != 0) return Error::from_errno("entering the home");
  char cwd[64];
  if (entry.sys(::getcwd, cwd, sizeof cwd) == nullptr || std::strcmp(cwd, "/home/sandbox") != 0)
    return Error{Code::internal, "the working directory is not inside the session"};
  return ok();
}

Status open_stdin(WorkerEntry& entry) {
  // The lowest free descriptor need not be 0: the zygote has one open there.
  Fd null(entry.sys(::open, "/dev/null", O_RDONLY | O_CLOEXEC, 0));
  if (!null) return Error::from_errno("opening /dev/null");
  if (entry.sys(::dup3, null.get(), 0, 0) != 0) return Error::from_errno("placing stdin");
  return ok();
}

Status offer_to_oom_killer(WorkerEntry& entry) {
  Fd file(entry.sys(::open, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC, 0));
  if (!file || entry.sys(::write, file.get(), "1000", std::size_t{4}) != 4)
    return Error::from_errno("raising the oom score");
  return ok();
}

Status become_sandbox(WorkerEntry& entry) {
  if (entry.sys(::setresgid, kSandboxId, kSandboxId, kSandboxId) != 0)
    return Error::from_errno("taking the group id");
  if (entry.sys(::setresuid, kSandboxId, kSandboxId, kSandboxId) != 0)
    return Error::from_errno("taking the user id");
  if (entry.sys(::setsid) < 0) return Error::from_errno("starting a session of its own");
  ::umask(022);  // cannot fail
  return ok();
}

Status set_resource_limits(WorkerEntry& entry) {
  constexpr rlim_t kMiB = 1 << 20;
  const std::pair<__rlimit_resource, rlim_t> limits[] = {
      {RLIMIT_CORE, 0},
      {RLIMIT_NOFILE, kMaxDescriptors},
      {RLIMIT_FSIZE, std::max<rlim_t>(entry.plan.disk_bytes, kMiB)},
      {RLIMIT_MEMLOCK, 64 * 1024},
      {RLIMIT_MSGQUEUE, 0},
      {RLIMIT_RTPRIO, 0},
      {RLIMIT_SIGPENDING, 1024},
      {RLIMIT_NPROC, entry.plan.processes},
      {RLIMIT_STACK, 8 * kMiB},
      {RLIMIT_DATA, entry.plan.data_bytes == 0 ? RLIM_INFINITY : entry.plan.data_bytes},
  };
  for (const auto& [resource, most] : limits) {
    rlimit now{};
    if (entry.sys(::getrlimit, resource, &now) != 0) return Error::from_errno("reading a limit");
    const rlim_t value = std::min(most, now.rlim_max);
    const rlimit wanted{value, resource == RLIMIT_STACK ? now.rlim_max : value};
    if (entry.sys(::setrlimit, resource, &wanted) != 0)
      return Error::from_errno("setting a resource limit");
  }
  return ok();
}

Status drop_worker_privileges(WorkerEntry& entry) {
  if (Status s = drop_all_privileges(entry.sys); !s) return s;
  // The change of ids made it undumpable; children could not see each other in /proc then.
  if (entry.sys(::prctl, PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
    return Error::from_errno("making the process dumpable again");
  return ok();
}

Status enter_landlock(WorkerEntry& entry) {
  if (!entry.ruleset) return ok();
  Status done = restrict_self(entry.sys, entry.ruleset.get());
  entry.ruleset.reset();
  return done;
}

Status install_seccomp(WorkerEntry& entry) {
  if (entry.filter.empty()) return Error{Code::internal, "there is no filter to install"};
  return install_filter(entry.sys, entry.filter);
}

Status enter(WorkerEntry& entry) {
  for (const WorkerStep& step : kWorkerSteps)
    if (Status done = step.apply(entry); !done) return std::move(done.error()).during(step.name);
  return ok();
}

}  // namespace vitrine::jail
