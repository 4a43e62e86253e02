// SPDX-License-Identifier: Apache-2.0
#include "jail/cgroup_tree.h"

#include <sys/stat.h>

#include "jail/cgroup_testing.h"

namespace vitrine::jail {
namespace {

class RealCgroupTree : public RealCgroup {};

TEST_P(RealCgroupTree, HasOneGroupPerName) {
  EXPECT_EQ(tree_->make("s1").error().code, Code::conflict);
  EXPECT_EQ(tree_->make("../x").error().code, Code::invalid_argument);
  EXPECT_EQ(tree_->make("keeper").error().code, Code::invalid_argument);
  EXPECT_TRUE(alive() == false) << "the first one is unharmed";
}

TEST_P(RealCgroupTree, SweepsWhatACrashedKeeperLeft) {
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

TEST_P(RealCgroupTree, SweepsTheFrozenToo) {
  if (!tree_->host().freeze) GTEST_SKIP() << "no freezer";
  Child init(sleep_for_ever);
  ASSERT_TRUE(group_->join_init(init.pid()));
  ASSERT_TRUE(group_->freeze(Cgroup::Freeze::freeze));

  Status removed = tree_->remove();

  ASSERT_TRUE(removed) << removed.error().describe();
  EXPECT_EQ(WTERMSIG(init.wait()), SIGKILL);
}

TEST_P(RealCgroupTree, MayGoBeforeItsGroups) {
  Child init(sleep_for_ever);
  ASSERT_TRUE(group_->join_init(init.pid()));

  Status removed = tree_->remove();

  ASSERT_TRUE(removed) << removed.error().describe();
  EXPECT_EQ(WTERMSIG(init.wait()), SIGKILL);
  EXPECT_FALSE(tree_->make("s3"));
  EXPECT_TRUE(group_->remove()) << "nothing left to do";
}

TEST_P(RealCgroupTree, DoesNotSweepItself) {
  Child keeper([&] {
    // In the tree as a keeper of v2 is, or as a program that one has started.
    if (!group_->join_init(::getpid())) ::_exit(1);
    Result<CgroupTree> tree = CgroupTree::create(tree_->host(), name_);
    ::_exit(!tree && tree.error().code == Code::conflict ? 0 : 2);
  });
  keeper.go();

  EXPECT_EQ(keeper.wait(), 0);
}

TEST_P(RealCgroupTree, IsGoneWithItsObject) {
  Child init(sleep_for_ever);
  {
    Result<Cgroup> group = tree_->make("s2");
    ASSERT_TRUE(group);
    ASSERT_TRUE(group->join_init(init.pid()));
  }
  EXPECT_EQ(WTERMSIG(init.wait()), SIGKILL);
  EXPECT_TRUE(tree_->make("s2")) << "the name is free again";
}

INSTANTIATE_TEST_SUITE_P(Hosts, RealCgroupTree, every_host(), host_name);

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
