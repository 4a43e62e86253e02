// SPDX-License-Identifier: Apache-2.0
// The real thing: children that load the filters and then try what session code might.
#include "jail/seccomp.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <thread>

namespace vitrine::jail {
namespace {

const Filters& filters() {
  static const Filters compiled = [] {
    Result<Filters> result = compile_filters();
    if (!result) throw std::runtime_error(result.error().describe());
    return std::move(*result);
  }();
  return compiled;
}

constexpr int kKilledBySigsys = 128 + SIGSYS;
constexpr int kNotSealed = 126;

enum class Wall { base, stacked, zygote };

// What `attempt` returns in a child behind the wall; 128 + signal if it was killed.
int behind(Wall wall, const std::function<int()>& attempt) {
  filters();  // compiled before the fork
  const pid_t child = ::fork();
  if (child == 0) {
    bool sealed = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    if (wall == Wall::base) sealed = sealed && install_filter(filters().base);
    if (wall != Wall::base) sealed = sealed && install_filter(filters().zygote);
    if (wall == Wall::stacked) sealed = sealed && install_filter(filters().worker);
    ::_exit(sealed ? attempt() : kNotSealed);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// The errno of a raw call, 0 for success.
template <class... Arguments>
int error_of(long number, Arguments... arguments) {
  return ::syscall(number, arguments...) < 0 ? errno : 0;
}

class SeccompWall : public ::testing::TestWithParam<Wall> {
 protected:
  template <class... Arguments>
  int attempt(long number, Arguments... arguments) {
    return behind(GetParam(), [=] { return error_of(number, arguments...); });
  }
};

TEST_P(SeccompWall, RefusesNewNamespaces) {
  EXPECT_EQ(attempt(SYS_unshare, CLONE_NEWUSER), EPERM);
  EXPECT_EQ(attempt(SYS_setns, 0, 0), EPERM);
  for (int flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWPID, CLONE_NEWIPC,
                   CLONE_NEWUTS, CLONE_NEWCGROUP})
    EXPECT_EQ(attempt(SYS_clone, flag | SIGCHLD, 0, 0, 0, 0), EPERM) << flag;
}

TEST_P(SeccompWall, RefusesChildrenForItsParent) {
  EXPECT_EQ(attempt(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0), EPERM);
}

TEST_P(SeccompWall, HidesClone3YetThreadsAndProcessesWork) {
  EXPECT_EQ(attempt(SYS_clone3, 0, 0), ENOSYS);
  EXPECT_EQ(behind(GetParam(),
                   [] {
                     int answer = 1;
                     std::thread([&] { answer = 0; }).join();
                     return answer;
                   }),
            0);
  EXPECT_EQ(behind(GetParam(),
                   [] {
                     const pid_t child = ::fork();
                     if (child == 0) ::_exit(7);
                     int status = 0;
                     ::waitpid(child, &status, 0);
                     return WEXITSTATUS(status);
                   }),
            7);
  EXPECT_EQ(behind(GetParam(), [] { return ::execl("/bin/sh", "sh", "-c", "exit 9", nullptr); }),
            9);
}

TEST_P(SeccompWall, RefusesSocketFamiliesThatLeaveTheNamespace) {
  constexpr int kVsock = 40;
  constexpr int kAlg = 38;
  constexpr int kXdp = 44;
  for (int family : {kVsock, kAlg, kXdp, 17, 0, -1})
    EXPECT_EQ(attempt(SYS_socket, family, SOCK_STREAM, 0), EAFNOSUPPORT) << family;
  EXPECT_EQ(attempt(SYS_socket, AF_NETLINK, SOCK_RAW, 12), EAFNOSUPPORT);
  EXPECT_EQ(behind(GetParam(),
                   [] {
                     int pair[2];
                     return error_of(SYS_socketpair, AF_INET, SOCK_STREAM, 0, pair);
                   }),
            EAFNOSUPPORT);
}

TEST_P(SeccompWall, AllowsOrdinarySockets) {
  EXPECT_EQ(attempt(SYS_socket, AF_UNIX, SOCK_STREAM, 0), 0);
  EXPECT_EQ(attempt(SYS_socket, AF_INET, SOCK_STREAM, 0), 0);
  EXPECT_EQ(attempt(SYS_socket, AF_INET6, SOCK_DGRAM, 0), 0);
  EXPECT_EQ(attempt(SYS_socket, AF_NETLINK, SOCK_RAW, 0), 0);
  EXPECT_EQ(behind(GetParam(),
                   [] {
                     int pair[2];
                     return error_of(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, pair);
                   }),
            0);
}

TEST_P(SeccompWall, RefusesKernelInterfacesWithAHistory) {
  EXPECT_EQ(attempt(SYS_io_uring_setup, 1, 0), EPERM);
  EXPECT_EQ(attempt(SYS_io_uring_enter, 0, 0, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(attempt(SYS_keyctl, 0, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(attempt(SYS_bpf, 0, 0, 0), EPERM);
  EXPECT_EQ(attempt(SYS_perf_event_open, 0, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(attempt(SYS_userfaultfd, 0), EPERM);
  EXPECT_EQ(attempt(SYS_ptrace, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(attempt(SYS_process_vm_readv, 0, 0, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(attempt(SYS_pidfd_getfd, 0, 0, 0), EPERM);
  EXPECT_EQ(attempt(SYS_vmsplice, 0, 0, 0, 0), ENOSYS);
  EXPECT_EQ(attempt(SYS_memfd_secret, 0), ENOSYS);
}

TEST_P(SeccompWall, RefusesToRewriteTheFileSystem) {
  EXPECT_EQ(attempt(SYS_mount, 0, "/nowhere", 0, 0, 0), EPERM);
  EXPECT_EQ(attempt(SYS_umount2, "/nowhere", 0), EPERM);
  EXPECT_EQ(attempt(SYS_chroot, "/"), EPERM);
  EXPECT_EQ(attempt(SYS_pivot_root, "/", "/"), EPERM);
  EXPECT_EQ(attempt(SYS_open_by_handle_at, 0, 0, 0), EPERM);
  EXPECT_EQ(attempt(SYS_fsopen, "tmpfs", 0), ENOSYS);
  EXPECT_EQ(attempt(SYS_open_tree, AT_FDCWD, "/", 0), ENOSYS);
  EXPECT_EQ(attempt(SYS_mount_setattr, AT_FDCWD, "/", 0, 0, 0), ENOSYS);
}

TEST_P(SeccompWall, RefusesToPushTerminalInput) {
  EXPECT_EQ(attempt(SYS_ioctl, 0, TIOCSTI, "x"), EPERM);
  EXPECT_EQ(attempt(SYS_ioctl, 0, 0xDEADBEEF00000000ull | TIOCSTI, "x"), EPERM);
  EXPECT_EQ(attempt(SYS_ioctl, 0, TIOCSETD, "x"), EPERM);
  EXPECT_EQ(attempt(SYS_ioctl, -1, TIOCGWINSZ, 0), EBADF) << "others reach the kernel";
}

TEST_P(SeccompWall, PretendsToFlushTheDisks) {
  EXPECT_EQ(attempt(SYS_sync), 0);
  EXPECT_EQ(attempt(SYS_syncfs, -1), 0) << "not even looked at";
}

TEST_P(SeccompWall, AnswersAPersonalityQueryOnly) {
  EXPECT_EQ(attempt(SYS_personality, 0xFFFFFFFFul), 0);
  EXPECT_EQ(attempt(SYS_personality, 0ul), 0);
  EXPECT_EQ(attempt(SYS_personality, ADDR_NO_RANDOMIZE), EPERM);
  EXPECT_EQ(attempt(SYS_personality, READ_IMPLIES_EXEC), EPERM);
}

TEST_P(SeccompWall, LetsAProgramSealItselfFurtherButNotListen) {
  EXPECT_EQ(behind(GetParam(),
                   [] {
                     if (!install_filter(filters().worker)) return 1;
                     return ::syscall(SYS_getpid) > 0 ? 0 : 2;
                   }),
            0);
  EXPECT_EQ(behind(GetParam(),
                   [] {
                     sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
                     sock_fprog whole{1, &allow};
                     return error_of(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                     SECCOMP_FILTER_FLAG_NEW_LISTENER, &whole);
                   }),
            EPERM);
  EXPECT_EQ(attempt(SYS_prctl, PR_SET_MM, 0, 0, 0, 0), EPERM);
  EXPECT_EQ(attempt(SYS_prctl, PR_SET_NAME, "quiet", 0, 0, 0), 0);
}

TEST_P(SeccompWall, RefusesCallsNobodyKnows) {
  EXPECT_EQ(attempt(999), ENOSYS);
  EXPECT_EQ(attempt(457), ENOSYS) << "statmount";
  EXPECT_EQ(attempt(462), ENOSYS) << "mseal";
}

#ifdef __x86_64__
TEST_P(SeccompWall, KillsOnThe32BitCallGate) {
  EXPECT_EQ(behind(GetParam(),
                   [] {
                     int answer = 20;  // getpid
                     asm volatile("int $0x80" : "+a"(answer) : : "memory");
                     return 0;
                   }),
            kKilledBySigsys);
}

TEST_P(SeccompWall, KillsOnX32Numbers) {
  EXPECT_EQ(attempt(0x40000000L | SYS_getpid), kKilledBySigsys);
  EXPECT_EQ(attempt(0x40000000L | SYS_socket, 40, SOCK_STREAM, 0), kKilledBySigsys);
}
#endif

INSTANTIATE_TEST_SUITE_P(Walls, SeccompWall, ::testing::Values(Wall::base, Wall::stacked),
                         [](const auto& wall) {
                           return wall.param == Wall::base ? "base" : "zygote_and_worker";
                         });

TEST(SeccompZygote, MayJoinNamespacesAndForkForItsParent) {
  EXPECT_EQ(behind(Wall::zygote, [] { return error_of(SYS_setns, -1, 0); }), EBADF);
  EXPECT_EQ(behind(Wall::zygote, [] { return error_of(SYS_umount2, "/nowhere", 0); }), ENOENT);
  EXPECT_EQ(behind(Wall::zygote, [] { return error_of(SYS_unshare, 0); }), 0);
  const int both = behind(Wall::zygote, [] {
    // A child of the test itself; it leaves at once.
    clone_args args{};
    args.flags = CLONE_PARENT;
    const long child = ::syscall(SYS_clone3, &args, sizeof args);
    if (child == 0) ::_exit(0);
    return child < 0 ? errno : 0;
  });
  EXPECT_EQ(both, 0);
  EXPECT_GT(::waitpid(-1, nullptr, 0), 0) << "the clone is ours to reap";
}

TEST(SeccompZygote, MayNotMakeNamespacesByClone) {
  EXPECT_EQ(
      behind(Wall::zygote, [] { return error_of(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); }),
      EPERM);
}

TEST(SeccompInstall, RefusesAProgramOfNoLength) {
  Status done = install_filter({});

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace vitrine::jail
