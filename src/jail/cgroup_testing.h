// SPDX-License-Identifier: Apache-2.0
// For tests: real groups below the test's own cgroup, and children to put into them. The tree
// removes its groups whatever happens in between.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "jail/cgroup_tree.h"

namespace vitrine::jail {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// This machine as it is, and as if it had no v2 hierarchy.
enum class Seen { as_it_is, v1_only };

inline CgroupHost host_of(Seen seen) {
  if (seen == Seen::as_it_is) return detect_cgroups();
  std::vector<CgroupPlace> places = parse_cgroups(*read_file(AT_FDCWD, "/proc/self/cgroup"),
                                                  *read_file(AT_FDCWD, "/proc/self/mountinfo"));
  std::erase_if(places, [](const CgroupPlace& p) { return p.version == CgroupVersion::v2; });
  return choose(std::move(places), probe_directory);
}

inline bool eventually(const std::function<bool()>& condition) {
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

inline void sleep_for_ever() {
  for (;;) ::pause();
}

class RealCgroup : public ::testing::TestWithParam<Seen> {
 protected:
  void SetUp() override {
    const CgroupHost host = host_of(GetParam());
    if (host.places.empty()) GTEST_SKIP() << "no cgroup for us: " << host.kill.refusal;
    name_ = "test-" + std::to_string(::getpid());
    Result<CgroupTree> tree = CgroupTree::create(host, name_);
    if (!tree && tree.error().code == Code::conflict)
      GTEST_SKIP() << "no cgroup of our own: " << tree.error().describe();
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

inline auto every_host() { return ::testing::Values(Seen::as_it_is, Seen::v1_only); }
inline std::string host_name(const ::testing::TestParamInfo<Seen>& host) {
  return host.param == Seen::as_it_is ? "as_it_is" : "v1_only";
}

}  // namespace vitrine::jail
