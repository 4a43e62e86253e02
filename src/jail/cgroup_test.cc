// SPDX-License-Identifier: Apache-2.0
#include "jail/cgroup.h"

#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>

#include "jail/cgroup_testing.h"

namespace vitrine::jail {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

void touch(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ::_exit(1);
  for (std::size_t i = 0; i < bytes; i += 4096) static_cast<volatile char*>(memory)[i] = 1;
}

TEST_P(RealCgroup, StartsEmpty) {
  Result<bool> populated = group_->populated();
  ASSERT_TRUE(populated) << populated.error().describe();
  EXPECT_FALSE(*populated);
  EXPECT_FALSE(*group_->worker_populated());
}

TEST_P(RealCgroup, KillsAWorkerAndSparesItsInit) {
  Child init(sleep_for_ever);
  Child worker([] {
    for (int i = 0; i < 5; ++i) ::fork();  // 32 of them
    sleep_for_ever();
  });
  ASSERT_TRUE(group_->join_init(init.pid()));
  Status joined = group_->join_worker(worker.pid());
  ASSERT_TRUE(joined) << joined.error().describe();
  init.go();
  worker.go();

  Status killed = group_->kill_worker();

  ASSERT_TRUE(killed) << killed.error().describe();
  EXPECT_EQ(WTERMSIG(worker.wait()), SIGKILL);
  EXPECT_TRUE(eventually([&] { return !*group_->worker_populated(); }));
  EXPECT_TRUE(alive()) << "init";
  EXPECT_EQ(::kill(init.pid(), 0), 0);
}

// As a zygote does it: clone3 into the v2 group, then by itself through the join descriptors of v1.
pid_t clone_into(const CgroupEntrance& entrance) {
  clone_args args{};
  args.exit_signal = SIGCHLD;
  if (entrance.into) {
    args.flags = CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(entrance.into.get());
  }
  return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
}

TEST_P(RealCgroup, LetsADelegateCloneStraightIntoASession) {
  const uid_t nobody = ::geteuid() == 0 ? 65534 : ::geteuid();
  Status delegated = tree_->delegate(nobody);
  ASSERT_TRUE(delegated) << delegated.error().describe();
  Result<Cgroup> session = tree_->make("s2");
  ASSERT_TRUE(session) << session.error().describe();
  ASSERT_TRUE(session->set_limits({.pids = 5}));
  Result<CgroupEntrance> entrance = session->open_entrance(Cgroup::Member::worker);
  ASSERT_TRUE(entrance) << entrance.error().describe();
  Child zygote([&] {
    if (::setresuid(nobody, nobody, nobody) != 0) ::_exit(1);
    const pid_t worker = clone_into(*entrance);
    if (worker < 0) ::_exit(errno);
    if (worker > 0) {
      int status = 0;
      ::waitpid(worker, &status, 0);
      ::_exit(WEXITSTATUS(status));
    }
    for (const Fd& join_fd : entrance->join_fds)
      if (!enter_cgroup(join_fd.get())) ::_exit(2);
    for (;;) {
      const pid_t child = ::fork();
      if (child == 0) sleep_for_ever();
      if (child < 0) ::_exit(errno);
    }
  });
  ASSERT_TRUE(tree_->join_core(zygote.pid()));

  zygote.go();

  EXPECT_EQ(WEXITSTATUS(zygote.wait()), EAGAIN) << "the limit of the session holds";
  EXPECT_TRUE(*session->worker_populated());
  EXPECT_TRUE(session->kill_worker());
  EXPECT_TRUE(eventually([&] { return !*session->worker_populated(); }));
  EXPECT_TRUE(session->renew_worker());
  Result<CgroupEntrance> again = session->open_entrance(Cgroup::Member::worker);
  ASSERT_TRUE(again) << again.error().describe();
  const pid_t second = clone_into(*again);
  if (second == 0) ::_exit(7);
  int status = 0;
  ::waitpid(second, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7) << "killed by the kill before";
  EXPECT_TRUE(session->remove());
}

std::uint64_t inode_of_worker_group(const Cgroup& group) {
  Result<CgroupEntrance> entrance = group.open_entrance(Cgroup::Member::worker);
  struct stat found {};
  if (!entrance || ::fstat(entrance->into.get(), &found) != 0) return 0;
  return found.st_ino;
}

TEST_P(RealCgroup, UsesAWorkersGroupAgainUnlessItWasKilled) {
  ASSERT_TRUE(tree_->delegate(::geteuid()));
  Result<Cgroup> session = tree_->make("s3");
  ASSERT_TRUE(session) << session.error().describe();
  session->keep_files();
  const std::uint64_t first = inode_of_worker_group(*session);
  if (first == 0) GTEST_SKIP() << "nobody is cloned into a group of v1";
  const auto run_worker = [&](int code) {
    Result<CgroupEntrance> entrance = session->open_entrance(Cgroup::Member::worker);
    const pid_t worker = clone_into(*entrance);
    if (worker == 0) code == 0 ? sleep_for_ever() : ::_exit(code);
    return worker;
  };
  const auto end_of = [](pid_t worker) {
    int status = 0;
    ::waitpid(worker, &status, 0);
    return status;
  };
  const auto empty = [&] { return eventually([&] { return !*session->worker_populated(); }); };

  EXPECT_EQ(WEXITSTATUS(end_of(run_worker(7))), 7);
  ASSERT_TRUE(empty());
  EXPECT_EQ(*session->renew_worker(), Cgroup::Renewed::same);
  EXPECT_EQ(inode_of_worker_group(*session), first);
  const pid_t second = run_worker(0);
  EXPECT_TRUE(*session->worker_populated()) << "an old look at it was taken for a new one";
  ASSERT_TRUE(session->kill_worker());
  EXPECT_TRUE(WIFSIGNALED(end_of(second)));
  ASSERT_TRUE(empty());
  EXPECT_EQ(*session->renew_worker(), Cgroup::Renewed::another);
  EXPECT_NE(inode_of_worker_group(*session), first);
  EXPECT_EQ(WEXITSTATUS(end_of(run_worker(8))), 8) << "killed by the kill before";
  ASSERT_TRUE(empty());
  EXPECT_TRUE(session->remove());
}

TEST_P(RealCgroup, KillsAForkBombWhole) {
  Child init(sleep_for_ever);
  Child bomb([] {
    for (;;) ::fork();
  });
  ASSERT_TRUE(group_->set_limits({.pids = 60}));
  ASSERT_TRUE(group_->join_init(init.pid()));
  ASSERT_TRUE(group_->join_worker(bomb.pid()));
  bomb.go();
  std::this_thread::sleep_for(milliseconds(50));

  Status killed = group_->kill_all();

  ASSERT_TRUE(killed) << killed.error().describe();
  init.wait();
  bomb.wait();
  EXPECT_TRUE(eventually([&] { return !alive(); }));
  EXPECT_TRUE(group_->remove());
}

TEST_P(RealCgroup, LimitsTheNumberOfProcesses) {
  if (!tree_->host().pids) GTEST_SKIP() << "no pids controller";
  ASSERT_TRUE(group_->set_limits({.pids = 10}));
  Child worker([] {
    int made = 0;
    for (int i = 0; i < 50; ++i) {
      const pid_t child = ::fork();
      if (child == 0) sleep_for_ever();
      made += child > 0;
    }
    ::_exit(made);
  });
  ASSERT_TRUE(group_->join_worker(worker.pid()));
  worker.go();

  EXPECT_EQ(WEXITSTATUS(worker.wait()), 9);
  EXPECT_TRUE(group_->kill_all());
  EXPECT_TRUE(eventually([&] { return !alive(); }));
}

TEST_P(RealCgroup, TellsThatMemoryRanOut) {
  if (!tree_->host().memory) GTEST_SKIP() << "no memory controller";
  ASSERT_TRUE(group_->set_limits({.memory_bytes = 32 * kMiB}));
  Result<Fd> event = group_->oom_event();
  ASSERT_TRUE(event) << event.error().describe();
  pollfd waiting{event->get(), static_cast<short>(group_->oom_poll_events()), 0};
  EXPECT_EQ(::poll(&waiting, 1, 0), 0) << "nothing happened yet";
  Child init(sleep_for_ever);
  Child worker([] { touch(200 * kMiB); });
  ASSERT_TRUE(group_->join_init(init.pid()));
  ASSERT_TRUE(group_->join_worker(worker.pid()));
  EXPECT_EQ(*group_->oom_kills(), 0u);

  worker.go();

  EXPECT_EQ(::poll(&waiting, 1, 5000), 1);
  EXPECT_EQ(WTERMSIG(worker.wait()), SIGKILL);
  EXPECT_GE(*group_->oom_kills(), 1u);
  const bool all_die = group_->oom_poll_events() == POLLPRI;  // v2
  EXPECT_TRUE(!all_die || WTERMSIG(init.wait()) == SIGKILL);
  drain_oom_event(event->get());
  EXPECT_EQ(::poll(&waiting, 1, 0), 0) << "drained";
}

TEST_P(RealCgroup, MeasuresMemoryAndForgetsThePeak) {
  if (!tree_->host().memory) GTEST_SKIP() << "no memory controller";
  Child worker([] { touch(20 * kMiB); });
  ASSERT_TRUE(group_->join_worker(worker.pid()));
  worker.go();
  worker.wait();

  Result<CgroupUsage> before = group_->usage();
  ASSERT_TRUE(before) << before.error().describe();
  Status reset = group_->reset_peak();
  Result<CgroupUsage> after = group_->usage();

  EXPECT_GE(*before->memory_peak_bytes, 20 * kMiB);
  EXPECT_LT(*before->memory_now_bytes, 10 * kMiB);
  if (!reset && reset.error().code == Code::unsupported) return;
  ASSERT_TRUE(reset) << reset.error().describe();
  EXPECT_LT(*after->memory_peak_bytes, 10 * kMiB);
}

TEST_P(RealCgroup, RaisesAndLowersTheMemoryLimit) {
  if (!tree_->host().memory) GTEST_SKIP() << "no memory controller";
  for (std::uint64_t mib : {64, 32, 256, 16, 512}) {
    Status done = group_->set_limits({.memory_bytes = mib * kMiB});
    EXPECT_TRUE(done) << mib << " MiB: " << done.error().describe();
  }
}

TEST_P(RealCgroup, LimitsAndMeasuresProcessorTime) {
  if (!tree_->host().cpu || !tree_->host().cpu_time) GTEST_SKIP() << "no cpu controller";
  Status limited = group_->set_limits({.cpu_permille = 200});
  ASSERT_TRUE(limited) << limited.error().describe();
  Child worker([] {
    for (;;) (void)::getppid();
  });
  ASSERT_TRUE(group_->join_worker(worker.pid()));
  worker.go();
  std::this_thread::sleep_for(milliseconds(500));
  ASSERT_TRUE(group_->kill_worker());
  worker.wait();

  const std::uint64_t used = group_->usage()->cpu_usec.value();

  EXPECT_GT(used, 10'000u);
  EXPECT_LT(used, 250'000u) << "a fifth of half a second, and one period of grace";
}

TEST_P(RealCgroup, RefusesALimitOfZero) {
  EXPECT_EQ(group_->set_limits({.memory_bytes = 0}).error().code, Code::invalid_argument);
  EXPECT_EQ(group_->set_limits({.pids = 0}).error().code, Code::invalid_argument);
  EXPECT_EQ(group_->set_limits({.cpu_permille = 9}).error().code, Code::invalid_argument);
}

TEST_P(RealCgroup, FreezesThawsAndKillsTheFrozen) {
  if (!tree_->host().freeze) GTEST_SKIP() << "no freezer";
  Fd counter(::memfd_create("counter", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(counter.get(), 4096), 0);
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, counter.get(), 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* beats = static_cast<volatile std::uint64_t*>(page);
  Child worker([&] {
    for (;;) {
      *beats = *beats + 1;
      ::usleep(100);
    }
  });
  ASSERT_TRUE(group_->join_worker(worker.pid()));
  worker.go();
  ASSERT_TRUE(eventually([&] { return *beats > 0; }));

  ASSERT_TRUE(group_->freeze(Cgroup::Freeze::freeze));
  EXPECT_TRUE(eventually([&] {
    const std::uint64_t before = *beats;
    std::this_thread::sleep_for(milliseconds(20));
    return *beats == before;
  }));
  ASSERT_TRUE(group_->freeze(Cgroup::Freeze::thaw));
  const std::uint64_t then = *beats;
  EXPECT_TRUE(eventually([&] { return *beats > then; }));
  ASSERT_TRUE(group_->freeze(Cgroup::Freeze::freeze));
  ASSERT_TRUE(group_->kill_all());
  EXPECT_EQ(WTERMSIG(worker.wait()), SIGKILL);
  ::munmap(page, 4096);
}

TEST_P(RealCgroup, CannotBeRemovedWhileSomeoneLives) {
  Child init(sleep_for_ever);
  ASSERT_TRUE(group_->join_init(init.pid()));

  Status removed = group_->remove();

  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::conflict);
  EXPECT_TRUE(alive());
  EXPECT_TRUE(group_->kill_all()) << "still works";
  init.wait();
  EXPECT_TRUE(group_->remove());
}

TEST_P(RealCgroup, RefusesProcessesThatDoNotExist) {
  EXPECT_EQ(group_->join_worker(0).error().code, Code::invalid_argument) << "0 would be ourselves";
  Child gone([] {});
  gone.go();
  const pid_t pid = gone.pid();
  gone.wait();
  EXPECT_EQ(group_->join_worker(pid).error().code, Code::unavailable);
}

INSTANTIATE_TEST_SUITE_P(Hosts, RealCgroup, every_host(), host_name);

}  // namespace
}  // namespace vitrine::jail
