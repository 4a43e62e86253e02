// SPDX-License-Identifier: Apache-2.0
#include "gateway/seal.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace vitrine::gateway {

namespace {

// Used by the event loop, malloc, OpenSSL and the system's resolver. Files are opened for reading only
// (resolv.conf, hosts, certificates); a name service that listens on a unix socket is not reached.
constexpr int kAllowed[] = {
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(close),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(lseek),
    SCMP_SYS(fcntl),
    SCMP_SYS(ioctl),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(timerfd_settime),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(accept),
    SCMP_SYS(accept4),
    SCMP_SYS(connect),
    SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),
    SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt),
    SCMP_SYS(shutdown),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg),
    SCMP_SYS(recvmmsg),
    SCMP_SYS(sendto),
    SCMP_SYS(sendmsg),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(futex),
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(sched_yield),
    SCMP_SYS(getrandom),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(rseq),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(sched_getaffinity),
};

constexpr std::pair<__rlimit_resource, rlim_t> kLimits[] = {
    {RLIMIT_CORE, 0},          {RLIMIT_FSIZE, 0},   {RLIMIT_NOFILE, 512},
    {RLIMIT_DATA, 512u << 20}, {RLIMIT_MEMLOCK, 0}, {RLIMIT_MSGQUEUE, 0},
};

bool add_rules(scmp_filter_ctx filter) {
  bool good = true;
  const auto allow = [&](int call, const scmp_arg_cmp& argument) {
    good = good && seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &argument) == 0;
  };
  for (int call : kAllowed) good = good && seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0) == 0;
  allow(SCMP_SYS(openat), SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY));
  for (int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)})
    allow(call, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  // The resolver asks the kernel for its addresses by netlink, and only such an address is so short: no
  // socket can be bound to a port. Listening is not allowed at all.
  allow(SCMP_SYS(bind), SCMP_A2(SCMP_CMP_EQ, sizeof(sockaddr_nl)));
  for (int family : {AF_INET, AF_INET6, AF_NETLINK})
    allow(SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(family)));
  return good;
}

}  // namespace

Status seal() {
  for (const auto& [resource, most] : kLimits) {
    rlimit now{};
    if (::getrlimit(resource, &now) != 0) return Error::from_errno("reading a limit");
    const rlim_t value = std::min(most, now.rlim_max);
    const rlimit wanted{value, value};
    if (::setrlimit(resource, &wanted) != 0) return Error::from_errno("setting a limit");
  }
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Error::from_errno("giving up privileges");
  const std::unique_ptr<void, decltype(&::seccomp_release)> filter(
      seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), ::seccomp_release);
  if (!filter || seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1) != 0 ||
      !add_rules(filter.get()) || seccomp_load(filter.get()) != 0)
    return Error{Code::internal, "loading the gateway's system call filter failed"};
  return ok();
}

}  // namespace vitrine::gateway
