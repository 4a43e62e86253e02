// SPDX-License-Identifier: Apache-2.0
#include "seal/seal.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

namespace vitrine::seal {

namespace {

constexpr int kCompute[] = {
    SCMP_SYS(read),         SCMP_SYS(write),           SCMP_SYS(pread64),
    SCMP_SYS(recvmsg),      SCMP_SYS(sendmsg),         SCMP_SYS(poll),
    SCMP_SYS(ppoll),        SCMP_SYS(close),           SCMP_SYS(fstat),
    SCMP_SYS(brk),          SCMP_SYS(munmap),          SCMP_SYS(mremap),
    SCMP_SYS(madvise),      SCMP_SYS(futex),           SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday), SCMP_SYS(getrandom),       SCMP_SYS(getpid),
    SCMP_SYS(gettid),       SCMP_SYS(rt_sigaction),    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall), SCMP_SYS(sched_yield),
    SCMP_SYS(exit),         SCMP_SYS(exit_group),
};

constexpr Condition kNoExecutableMemory[] = {
    {.call = SCMP_SYS(mmap), .argument = 2, .mask = PROT_EXEC},
    {.call = SCMP_SYS(mprotect), .argument = 2, .mask = PROT_EXEC},
};

constexpr int kNetwork[] = {
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(newfstatat),
    SCMP_SYS(lseek),
    SCMP_SYS(fcntl),
    SCMP_SYS(ioctl),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(accept4),
    SCMP_SYS(connect),
    SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),
    SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt),
    SCMP_SYS(shutdown),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recvmmsg),
    SCMP_SYS(sendto),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(time),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(rseq),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(sched_getaffinity),
};

constexpr Condition kNetworkConditions[] = {
    {.call = SCMP_SYS(openat),
     .argument = 2,
     .mask = O_ACCMODE | O_CREAT | O_TRUNC,
     .value = O_RDONLY},
    {.call = SCMP_SYS(socket), .argument = 0, .value = AF_INET},
    {.call = SCMP_SYS(socket), .argument = 0, .value = AF_INET6},
    {.call = SCMP_SYS(socket), .argument = 0, .value = AF_NETLINK},
};

struct Release {
  void operator()(void* filter) const { seccomp_release(filter); }
};

Status lower(const Limit& limit) {
  rlimit now{};
  if (::getrlimit(limit.resource, &now) != 0) return Error::from_errno("reading a limit");
  const rlim_t value = std::min(limit.most, now.rlim_max);
  const rlimit wanted{value, value};
  if (::setrlimit(limit.resource, &wanted) != 0) return Error::from_errno("setting a limit");
  return ok();
}

// The first error of a chain of libseccomp's calls, 0 if there was none.
class Rules {
 public:
  explicit Rules(scmp_filter_ctx filter) : filter_(filter) {}

  void set(scmp_filter_attr attribute, std::uint32_t value) {
    if (error_ == 0) error_ = seccomp_attr_set(filter_, attribute, value);
  }
  void allow(std::span<const int> calls) {
    for (const int call : calls)
      if (error_ == 0) error_ = seccomp_rule_add(filter_, SCMP_ACT_ALLOW, call, 0);
  }
  void allow(std::span<const Condition> conditions) {
    for (const Condition& one : conditions) {
      const scmp_arg_cmp when = SCMP_CMP(one.argument, SCMP_CMP_MASKED_EQ, one.mask, one.value);
      if (error_ == 0) error_ = seccomp_rule_add_array(filter_, SCMP_ACT_ALLOW, one.call, 1, &when);
    }
  }
  Status load() {
    if (error_ == 0) error_ = seccomp_load(filter_);
    if (error_ != 0) return Error::from_errno("loading a system call filter", -error_);
    return ok();
  }

 private:
  scmp_filter_ctx filter_;
  int error_ = 0;
};

}  // namespace

Status apply(const Seal& seal) {
  for (const Limit& limit : seal.limits)
    if (Status lowered = lower(limit); !lowered) return lowered;
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Error::from_errno("giving up privileges");
  const std::unique_ptr<void, Release> filter(
      seccomp_init(SCMP_ACT_ERRNO(static_cast<std::uint16_t>(seal.refusal))));
  if (!filter) return Error{Code::internal, "starting a system call filter failed"};
  Rules rules(filter.get());
  rules.set(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  rules.set(SCMP_FLTATR_CTL_TSYNC, 1);
  rules.allow(kCompute);
  rules.allow(kNoExecutableMemory);
  if (seal.base == Base::network) {
    rules.allow(kNetwork);
    rules.allow(kNetworkConditions);
  }
  rules.allow(seal.calls);
  rules.allow(seal.conditions);
  return rules.load();
}

}  // namespace vitrine::seal
