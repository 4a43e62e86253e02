// SPDX-License-Identifier: Apache-2.0
#include "seal/seal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vitrine::seal {
namespace {

constexpr int kNotSealed = 99;

// What `act` returned in a process that was sealed before. It makes system calls and nothing else.
int sealed(const Seal& seal, int (*act)()) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(apply(seal) ? act() : kNotSealed);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int open_hosts() { return ::open("/etc/hosts", O_RDONLY) >= 0 ? 0 : errno; }
int internet_socket() { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 0 : errno; }

TEST(Seal, LeavesMemoryMessagesAndTheExit) {
  EXPECT_EQ(sealed({},
                   [] {
                     void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                     return page != MAP_FAILED && ::getpid() > 0 ? 0 : 1;
                   }),
            0);
}

TEST(Seal, TakesFilesSocketsProcessesAndExecutableMemoryAway) {
  EXPECT_EQ(sealed({}, open_hosts), ENOSYS);
  EXPECT_EQ(sealed({}, internet_socket), ENOSYS);
  EXPECT_EQ(sealed({}, [] { return ::fork() >= 0 ? 0 : errno; }), ENOSYS);
  EXPECT_EQ(sealed({},
                   [] {
                     void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                     return page == MAP_FAILED ? errno : 0;
                   }),
            ENOSYS);
}

TEST(Seal, RefusesWithTheErrorThatItWasGiven) {
  EXPECT_EQ(sealed({.refusal = EPERM}, open_hosts), EPERM);
}

TEST(Seal, AllowsACallByItsArgument) {
  static constexpr Condition kReadOnly[] = {
      {.call = SCMP_SYS(openat), .argument = 2, .mask = O_ACCMODE, .value = O_RDONLY}};

  EXPECT_EQ(sealed({.conditions = kReadOnly}, open_hosts), 0);
  EXPECT_EQ(sealed({.conditions = kReadOnly},
                   [] { return ::open("/dev/null", O_WRONLY) >= 0 ? 0 : errno; }),
            ENOSYS);
}

TEST(Seal, LetsTheNetworkIn) {
  EXPECT_EQ(sealed({.base = Base::network}, internet_socket), 0);
  EXPECT_EQ(sealed({.base = Base::network}, open_hosts), 0);
  EXPECT_EQ(sealed({.base = Base::network},
                   [] { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 0 : errno; }),
            ENOSYS);
}

TEST(Seal, LowersLimits) {
  static constexpr Limit kFew[] = {{RLIMIT_NOFILE, 0}};

  EXPECT_EQ(sealed({.base = Base::network, .limits = kFew}, open_hosts), EMFILE);
}

}  // namespace
}  // namespace vitrine::seal
