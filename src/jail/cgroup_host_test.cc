// SPDX-License-Identifier: Apache-2.0
#include "jail/cgroup_host.h"

#include <gtest/gtest.h>

#include <map>

namespace vitrine::jail {
namespace {

// A host where every directory is writable and v2 offers `controllers`.
CgroupHost on_host(std::string_view cgroup, std::string_view mountinfo,
                   std::string controllers = "") {
  return choose(parse_cgroups(cgroup, mountinfo), [&](const CgroupPlace& place) {
    return CgroupProbe{.controllers = place.version == CgroupVersion::v2 ? controllers : ""};
  });
}

std::string where(const CgroupHost& host, const CgroupOffer& offer) {
  return offer ? host.places[*offer.place].directory : "refused: " + offer.refusal;
}

constexpr std::string_view kV1Cgroup =
    "5:pids:/user.slice\n"
    "4:memory:/user.slice/session-1\n"
    "3:freezer:/\n"
    "2:cpu,cpuacct:/user.slice\n"
    "1:name=systemd:/user.slice/session-1.scope\n";
constexpr std::string_view kV1Mounts =
    "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
    "30 22 0:25 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
    "31 30 0:26 / /sys/fs/cgroup/systemd rw,nosuid shared:9 - cgroup cgroup rw,name=systemd\n"
    "32 30 0:27 / /sys/fs/cgroup/pids rw,nosuid shared:10 - cgroup cgroup rw,pids\n"
    "33 30 0:28 / /sys/fs/cgroup/memory rw,nosuid shared:11 - cgroup cgroup rw,memory\n"
    "34 30 0:29 / /sys/fs/cgroup/freezer rw,nosuid shared:12 - cgroup cgroup rw,freezer\n"
    "35 30 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:13 - cgroup cgroup rw,cpu,cpuacct\n";

TEST(CgroupHost, OnV1FindsOurOwnGroupInEachHierarchy) {
  const CgroupHost host = on_host(kV1Cgroup, kV1Mounts);

  EXPECT_EQ(kind_of(host), "v1");
  EXPECT_EQ(where(host, host.memory), "/sys/fs/cgroup/memory/user.slice/session-1");
  EXPECT_EQ(where(host, host.pids), "/sys/fs/cgroup/pids/user.slice");
  EXPECT_EQ(where(host, host.cpu), "/sys/fs/cgroup/cpu,cpuacct/user.slice");
  EXPECT_EQ(where(host, host.cpu_time), "/sys/fs/cgroup/cpu,cpuacct/user.slice");
  EXPECT_EQ(where(host, host.freeze), "/sys/fs/cgroup/freezer");
  EXPECT_EQ(where(host, host.kill), "/sys/fs/cgroup/pids/user.slice");
  EXPECT_EQ(host.places.size(), 4u) << "cpu and cpuacct are one; systemd's is not used";
}

TEST(CgroupHost, OnAHybridLimitsByV1AndKillsByV2) {
  const CgroupHost host = on_host(
      "9:name=systemd:/\n8:pids:/\n6:freezer:/\n4:memory:/a/b\n2:cpuacct:/\n1:cpu:/\n0::/\n",
      "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
      "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
      "37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer\n"
      "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
      "hugetlb\n");

  EXPECT_EQ(kind_of(host), "hybrid");
  EXPECT_EQ(where(host, host.memory), "/sys/fs/cgroup/memory/a/b");
  EXPECT_EQ(where(host, host.pids), "/sys/fs/cgroup/pids");
  EXPECT_EQ(where(host, host.cpu), "/sys/fs/cgroup/cpu");
  EXPECT_EQ(where(host, host.cpu_time), "/sys/fs/cgroup/unified");
  EXPECT_EQ(where(host, host.freeze), "/sys/fs/cgroup/unified");
  EXPECT_EQ(where(host, host.kill), "/sys/fs/cgroup/unified");
  EXPECT_EQ(host.places.size(), 4u) << "freezer and cpuacct are not needed";
  EXPECT_TRUE(host.places[*host.kill.place].controllers.empty()) << "nothing to switch on";
}

constexpr std::string_view kV2Mounts =
    "26 22 0:23 / /sys/fs/cgroup rw,nosuid,nodev shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(CgroupHost, OnV2WithDelegationDoesAllInOnePlace) {
  const CgroupHost host =
      on_host("0::/system.slice/vitrine.service\n", kV2Mounts, "cpuset cpu io memory pids\n");

  EXPECT_EQ(kind_of(host), "v2");
  ASSERT_EQ(host.places.size(), 1u);
  for (const CgroupOffer* offer :
       {&host.memory, &host.pids, &host.cpu, &host.cpu_time, &host.freeze, &host.kill})
    EXPECT_EQ(where(host, *offer), "/sys/fs/cgroup/system.slice/vitrine.service");
  EXPECT_EQ(host.places[0].controllers, (std::vector<std::string>{"cpu", "memory", "pids"}));
}

TEST(CgroupHost, OnV2WithoutDelegationSaysWhy) {
  const CgroupHost host =
      choose(parse_cgroups("0::/user.slice/user-1000.slice/session-3.scope\n", kV2Mounts),
             [](const CgroupPlace&) {
               return CgroupProbe{.refusal = "we may not write to our own cgroup",
                                  .controllers = "memory pids\n"};
             });

  EXPECT_EQ(kind_of(host), "none");
  EXPECT_EQ(where(host, host.memory), "refused: we may not write to our own cgroup");
  EXPECT_EQ(where(host, host.kill), "refused: we may not write to our own cgroup");
  EXPECT_EQ(where(host, host.cpu), "refused: no hierarchy has it");
}

TEST(CgroupHost, OnV2WithSomeControllersOffersThose) {
  const CgroupHost host = on_host("0::/user.slice/u.service\n", kV2Mounts, "memory pids\n");

  EXPECT_TRUE(host.memory);
  EXPECT_TRUE(host.pids);
  EXPECT_FALSE(host.cpu);
  EXPECT_TRUE(host.kill);
}

TEST(CgroupHost, WithoutAnyMountOffersNothing) {
  const CgroupHost host = on_host("4:memory:/\n0::/\n", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");

  EXPECT_EQ(kind_of(host), "none");
  EXPECT_EQ(where(host, host.memory), "refused: it is not mounted");
  EXPECT_EQ(where(host, host.pids), "refused: no hierarchy has it");
  EXPECT_EQ(where(host, host.kill), "refused: it is not mounted");
}

TEST(CgroupHost, InAContainerSeesItsReadOnlyMounts) {
  const CgroupHost host =
      on_host("4:memory:/docker/abc\n3:pids:/docker/abc\n",
              "40 39 0:30 /docker/abc /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n"
              "41 39 0:31 /docker/abc /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids\n");

  EXPECT_EQ(where(host, host.memory), "refused: it is mounted read-only");
  EXPECT_EQ(where(host, host.pids), "/sys/fs/cgroup/pids")
      << "the mount shows our own group as its root";
}

TEST(CgroupHost, FindsAGroupBelowTheMountedOne) {
  const CgroupHost host =
      on_host("4:memory:/docker/abc/child\n",
              "40 39 0:30 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");

  EXPECT_EQ(where(host, host.memory), "/sys/fs/cgroup/memory/child");
}

TEST(CgroupHost, NeverClimbsOutOfItsNamespace) {
  const std::string_view mounts =
      "40 39 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "41 39 0:31 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";

  const CgroupHost host = on_host("4:memory:/../../other\n3:pids:/docker/abcdef\n", mounts);

  EXPECT_EQ(where(host, host.memory), "refused: our own cgroup is outside of what is mounted");
  EXPECT_EQ(where(host, host.pids), "refused: our own cgroup is outside of what is mounted");
}

TEST(CgroupHost, PrefersAWritableMountOfTheSameHierarchy) {
  const CgroupHost host = on_host("0::/\n",
                                  "40 39 0:30 / /ro rw - cgroup2 none ro\n"
                                  "41 39 0:30 / /rw rw - cgroup2 none rw\n",
                                  "memory");

  EXPECT_EQ(where(host, host.memory), "/rw");
}

TEST(CgroupHost, ReadsEscapedPathsAndSkipsWhatItDoesNotUnderstand) {
  const CgroupHost host =
      on_host("nonsense\n:\n0::/a b\n",
              "\n1 2 3\n40 39 0:30 / /my\\040groups rw - cgroup2 none rw\n50 39 - cgroup2\n", "");

  EXPECT_EQ(where(host, host.kill), "/my groups/a b");
}

TEST(CgroupHost, DescribesThisMachineWithoutFailing) {
  const CgroupHost host = detect_cgroups();

  for (const CgroupOffer* offer : {&host.memory, &host.pids, &host.cpu, &host.kill})
    EXPECT_NE(offer->place.has_value(), !offer->refusal.empty());
}

}  // namespace
}  // namespace vitrine::jail
