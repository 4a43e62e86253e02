// SPDX-License-Identifier: Apache-2.0
#include "gateway/seal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VITRINE_SHADOW_MEMORY  // more than the seal's limit of memory
#endif
#endif

namespace vitrine::gateway {
namespace {

constexpr int kNotSealed = 99;

// What `act` returned in a process that was sealed before. It makes system calls and nothing else.
int sealed(int (*act)()) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(seal_gateway() ? act() : kNotSealed);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int internet_socket() { return ::socket(AF_INET, SOCK_STREAM, 0); }

class SealTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef VITRINE_SHADOW_MEMORY
    GTEST_SKIP() << "the sanitizer needs more memory than the seal allows";
#endif
  }
};

TEST_F(SealTest, LeavesWhatAClientNeeds) {
  EXPECT_EQ(sealed([] {
              const Fd file(::open("/etc/hosts", O_RDONLY));
              const Fd net(internet_socket());
              sockaddr_nl address{};
              address.nl_family = AF_NETLINK;
              const Fd netlink(::socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
              const auto* raw = reinterpret_cast<const sockaddr*>(&address);
              return file && net && netlink && ::bind(netlink.get(), raw, sizeof address) == 0 ? 0
                                                                                               : 1;
            }),
            0);
}

TEST_F(SealTest, TakesPortsAndListeningAway) {
  EXPECT_EQ(sealed([] {
              sockaddr_in address{};
              address.sin_family = AF_INET;
              const auto* raw = reinterpret_cast<const sockaddr*>(&address);
              return ::bind(internet_socket(), raw, sizeof address) == 0 ? 0 : errno;
            }),
            ENOSYS);
  EXPECT_EQ(sealed([] {
              sockaddr_in address{};
              address.sin_family = AF_INET;
              const auto* raw = reinterpret_cast<const sockaddr*>(&address);
              return ::bind(internet_socket(), raw, sizeof(sockaddr_nl)) == 0 ? 0 : errno;
            }),
            EINVAL);
  EXPECT_EQ(sealed([] { return ::listen(internet_socket(), 1) == 0 ? 0 : errno; }), ENOSYS);
}

TEST_F(SealTest, TakesFilesAndOtherSocketsAway) {
  EXPECT_EQ(sealed([] { return ::open("/dev/null", O_WRONLY) >= 0 ? 0 : errno; }), ENOSYS);
  EXPECT_EQ(sealed([] { return ::open("/tmp", O_TMPFILE | O_RDWR, 0600) >= 0 ? 0 : errno; }),
            ENOSYS);
  EXPECT_EQ(sealed([] { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 0 : errno; }), ENOSYS);
}

TEST_F(SealTest, TakesProgramsThreadsAndExecutableMemoryAway) {
  EXPECT_EQ(sealed([] {
              char name[] = "true";
              char* const argv[] = {name, nullptr};
              ::execve("/bin/true", argv, nullptr);
              return errno;
            }),
            ENOSYS);
  EXPECT_EQ(sealed([] { return ::fork() >= 0 ? 0 : errno; }), ENOSYS);
  EXPECT_EQ(sealed([] {
              void* page =
                  ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return page == MAP_FAILED ? errno : 0;
            }),
            ENOSYS);
}

}  // namespace
}  // namespace vitrine::gateway
