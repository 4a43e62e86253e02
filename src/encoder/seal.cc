// SPDX-License-Identifier: Apache-2.0
#include "encoder/seal.h"

#include <linux/close_range.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>

namespace vitrine::encoder {

namespace {

constexpr int kFirstOther = 4;
constexpr rlim_t kMaxDescriptors = kFirstOther + 3;  // the screen, the file, a timer
constexpr rlim_t kMaxMemory = 2ull << 30;
constexpr int kNiceness = 10;

// What encoding needs once everything is open. The others fail with EPERM.
constexpr std::array kAllowed{
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(write),
    SCMP_SYS(pwrite64),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendmsg),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(brk),
    SCMP_SYS(futex),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(getrandom),
    SCMP_SYS(close),
    SCMP_SYS(fstat),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sched_yield),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

struct Release {
  void operator()(void* context) const { seccomp_release(context); }
};

Status limit(__rlimit_resource what, rlim_t most) {
  const rlimit value{most, most};
  if (::setrlimit(what, &value) != 0) return Error::from_errno("setting a limit");
  return ok();
}

Status filter() {
  const std::unique_ptr<void, Release> context(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (!context) return Error{Code::internal, "starting a system call filter failed"};
  const auto add = [&](int call, unsigned count, const scmp_arg_cmp* when) {
    return seccomp_rule_add_array(context.get(), SCMP_ACT_ALLOW, call, count, when);
  };
  int e = seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  for (const int call : kAllowed)
    if (e == 0) e = add(call, 0, nullptr);
  const scmp_arg_cmp not_executable = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
  if (e == 0) e = add(SCMP_SYS(mmap), 1, &not_executable);
  if (e == 0) e = add(SCMP_SYS(mprotect), 1, &not_executable);
  // abort() ends itself only.
  const scmp_arg_cmp itself = SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid()));
  if (e == 0) e = add(SCMP_SYS(tgkill), 1, &itself);
  if (e == 0) e = seccomp_load(context.get());
  if (e != 0) return Error::from_errno("loading a system call filter", -e);
  return ok();
}

}  // namespace

Status close_others() {
  if (::syscall(SYS_close_range, kFirstOther, ~0u, 0) != 0)
    return Error::from_errno("closing descriptors");
  return ok();
}

Status seal(std::uint64_t max_file_bytes) {
  errno = 0;
  if (::nice(kNiceness) == -1 && errno != 0) return Error::from_errno("lowering the priority");
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit fails instead
  for (const Status& done :
       {limit(RLIMIT_CORE, 0), limit(RLIMIT_FSIZE, max_file_bytes), limit(RLIMIT_AS, kMaxMemory),
        limit(RLIMIT_NOFILE, kMaxDescriptors), limit(RLIMIT_NPROC, 0)})
    if (!done) return done;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Error::from_errno("giving up new privileges");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    return Error::from_errno("closing itself to others");
  return filter();
}

}  // namespace vitrine::encoder
