// SPDX-License-Identifier: Apache-2.0
// Real groups below the test's own cgroup; the tree removes them whatever happens in between.
#include "jail/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "jail/cgroup_files.h"
#include "jail/cgroup_tree.h"

namespace vitrine::jail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t kMiB = 1 << 20;

// This machine as it is, and as if it had no v2 hierarchy.
enum class Seen { as_it_is, v1_only };

CgroupHost host_of(Seen seen) {
  if (seen == Seen::as_it_is) return detect_cgroups();
  std::vector<CgroupPlace> places = parse_cgroups(*read_file(AT_FDCWD, "/proc/self/cgroup"),
                                                  *read_file(AT_FDCWD, "/proc/self/mountinfo"));
  std::erase_if(places, [](const CgroupPlace& p) { return p.version == CgroupVersion::v2; });
  return choose(std::move(places), probe_directory);
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = steady_clock::now() + milliseconds(5000);
  while (!condition()) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

// A child that waits to be told to go, so that it can join a group before it does anything.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : go_(::eventfd(0, EFD_CLOEXEC)) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    std::uint64_t one = 0;
    (void)!::read(go_.get(), &one, sizeof one);
    body();
    ::_exit(0);
  }
  Child(Child&&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  void go() {
    const std::uint64_t one = 1;
    (void)!::write(go_.get(), &one, sizeof one);
  }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  Fd go_;
  pid_t pid_ = -1;
};

void sleep_for_ever() {
  for (;;) ::pause();
}

void touch(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ::_exit(1);
  for (std::size_t i = 0; i < bytes; i += 4096) static_cast<volatile char*>(memory)[i] = 1;
}

class RealCgroup : public ::testing::TestWithParam<Seen> {
 protected:
  void SetUp() override {
    const CgroupHost host = host_of(GetParam());
    if (host.places.empty()) GTEST_SKIP() << "no cgroup for us: " << host.kill.refusal;
    name_ = "test-" + std::to_string(::getpid());
    Result<CgroupTree> tree = CgroupTree::create(host, name_);
    ASSERT_TRUE(tree) << tree.error().describe();
    tree_.emplace(std::move(*tree));
    Result<Cgroup> group = tree_->make("s1");
    ASSERT_TRUE(group) << group.error().describe();
    group_.emplace(std::move(*group));
  }
  void TearDown() override {
    group_.reset();
    if (!tree_) return;
    const CgroupHost host = tree_->host();
    Status removed = tree_->remove();
    EXPECT_TRUE(removed) << removed.error().describe();
    tree_.reset();
    for (const CgroupPlace& place : host.places)
      EXPECT_NE(::access((place.directory + "/vitrine-" + name_).c_str(), F_OK), 0)
          << "left behind: " << place.directory;
  }
  bool alive() { return group_->populated() && *group_->populated(); }

  std::string name_;
  std::optional<CgroupTree> tree_;
  std::optional<Cgroup> group_;
};

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
  Child worker([] { touch(200 * kMiB); });
  ASSERT_TRUE(group_->join_worker(worker.pid()));
  EXPECT_EQ(*group_->oom_kills(), 0u);

  worker.go();

  EXPECT_EQ(::poll(&waiting, 1, 5000), 1);
  EXPECT_EQ(WTERMSIG(worker.wait()), SIGKILL);
  EXPECT_GE(*group_->oom_kills(), 1u);
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

TEST_P(RealCgroup, HasOneGroupPerName) {
  EXPECT_EQ(tree_->make("s1").error().code, Code::conflict);
  EXPECT_EQ(tree_->make("../x").error().code, Code::invalid_argument);
  EXPECT_EQ(tree_->make("keeper").error().code, Code::invalid_argument);
  EXPECT_TRUE(alive() == false) << "the first one is unharmed";
}

TEST_P(RealCgroup, SweepsWhatACrashedKeeperLeft) {
  const std::string name = name_ + "-old";
  const CgroupHost host = tree_->host();
  group_.reset();
  ASSERT_TRUE(tree_->remove());
  Child orphan(sleep_for_ever);
  for (const CgroupPlace& place : host.places) {
    std::string path = place.directory + "/vitrine-" + name;
    for (const char* below : {"", "/s1", "/w"}) {
      path += below;
      ASSERT_EQ(::mkdir(path.c_str(), 0755), 0) << path;
    }
    const std::string members = path + "/cgroup.procs";
    ASSERT_TRUE(write_file(AT_FDCWD, members.c_str(), std::to_string(orphan.pid())));
  }

  Result<CgroupTree> again = CgroupTree::create(host, name);

  ASSERT_TRUE(again) << again.error().describe();
  EXPECT_EQ(WTERMSIG(orphan.wait()), SIGKILL);
  Result<Cgroup> group = again->make("s1");
  ASSERT_TRUE(group) << group.error().describe();
  EXPECT_FALSE(*group->populated());
}

TEST_P(RealCgroup, DoesNotSweepItself) {
  Child keeper([&] {
    // In the tree as a keeper of v2 is, or as a program that one has started.
    if (!group_->join_init(::getpid())) ::_exit(1);
    Result<CgroupTree> tree = CgroupTree::create(tree_->host(), name_);
    ::_exit(!tree && tree.error().code == Code::conflict ? 0 : 2);
  });
  keeper.go();

  EXPECT_EQ(keeper.wait(), 0);
}

TEST_P(RealCgroup, IsGoneWithItsObject) {
  Child init(sleep_for_ever);
  {
    Result<Cgroup> group = tree_->make("s2");
    ASSERT_TRUE(group);
    ASSERT_TRUE(group->join_init(init.pid()));
  }
  EXPECT_EQ(WTERMSIG(init.wait()), SIGKILL);
  EXPECT_TRUE(tree_->make("s2")) << "the name is free again";
}

INSTANTIATE_TEST_SUITE_P(Hosts, RealCgroup, ::testing::Values(Seen::as_it_is, Seen::v1_only),
                         [](const auto& host) {
                           return host.param == Seen::as_it_is ? "as_it_is" : "v1_only";
                         });

TEST(CgroupTree, SaysUnsupportedWhereThereIsNothing) {
  const CgroupHost nothing = choose({}, probe_directory);

  Result<CgroupTree> tree = CgroupTree::create(nothing, "x");

  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, Code::unsupported);
}

TEST(CgroupTree, RefusesNamesThatAreNotPlain) {
  for (const char* name : {"", "a/b", "..", "a b"})
    EXPECT_EQ(CgroupTree::create(detect_cgroups(), name).error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace vitrine::jail
