// SPDX-License-Identifier: Apache-2.0
#include "session/worker_fds.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace vitrine::session {
namespace {

using wire::FdRole;

const std::vector<FdRole> kWorker{FdRole::session_socket, FdRole::stdout_pipe, FdRole::stderr_pipe};

std::vector<Fd> descriptors(std::size_t size) {
  std::vector<Fd> fds;
  for (std::size_t i = 0; i < size; ++i)
    fds.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return fds;
}

std::optional<WorkerFds> taken(std::vector<FdRole> roles, Outside outside) {
  std::vector<Fd> fds = descriptors(roles.size());
  return take_worker_fds(std::move(fds), {std::move(roles)}, outside);
}

TEST(WorkerFds, AreKnownByTheirNamesInAnyOrder) {
  std::vector<Fd> fds = descriptors(7);
  std::vector<int> numbers;
  for (const Fd& fd : fds) numbers.push_back(fd.get());

  const std::optional<WorkerFds> lines = take_worker_fds(
      std::move(fds),
      {{FdRole::egress_counters, FdRole::stderr_pipe, FdRole::memory_meter, FdRole::session_socket,
        FdRole::egress_log, FdRole::stdout_pipe, FdRole::cpu_meter}},
      Outside::network);

  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->counters.get(), numbers[0]);
  EXPECT_EQ(lines->err.get(), numbers[1]);
  EXPECT_EQ(lines->peak.get(), numbers[2]);
  EXPECT_EQ(lines->socket.get(), numbers[3]);
  EXPECT_EQ(lines->network.get(), numbers[4]);
  EXPECT_EQ(lines->out.get(), numbers[5]);
  EXPECT_EQ(lines->cpu.get(), numbers[6]);
}

TEST(WorkerFds, AreNoneWithoutAllThatASessionNeeds) {
  EXPECT_TRUE(taken(kWorker, Outside::sealed));
  EXPECT_FALSE(taken(kWorker, Outside::network));
  for (std::size_t missing = 0; missing < kWorker.size(); ++missing) {
    std::vector<FdRole> fewer = kWorker;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_FALSE(taken(fewer, Outside::sealed)) << missing;
  }
}

TEST(WorkerFds, AreNoneWithOneNamedTwiceOrNotAtAllOrOfAnotherKind) {
  for (const FdRole odd : {FdRole::stdout_pipe, FdRole::framebuffer}) {
    std::vector<FdRole> roles = kWorker;
    roles.push_back(odd);
    EXPECT_FALSE(taken(roles, Outside::sealed));
  }
  EXPECT_FALSE(take_worker_fds(descriptors(4), {kWorker}, Outside::sealed));
}

TEST(WorkerFds, HaveNoAccountsWhereTheKeeperSentNone) {
  const std::optional<WorkerFds> lines = taken(kWorker, Outside::sealed);

  ASSERT_TRUE(lines);
  EXPECT_FALSE(lines->cpu);
  EXPECT_FALSE(lines->network);
}

}  // namespace
}  // namespace vitrine::session
