// SPDX-License-Identifier: Apache-2.0
#include "model/host_ids.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

constexpr std::uint32_t kBase = 0x20000000;

Result<HostIds> planned(const char* users, const char* groups) {
  return plan_host_ids(parse_id_map(users), parse_id_map(groups), kBase);
}

TEST(HostIds, AreThoseFromTheBaseOnWhereAllIdsAreMapped) {
  Result<HostIds> ids = planned("         0          0 4294967295\n", "0 0 4294967295\n");

  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->outer.first, kBase);
  EXPECT_EQ(ids->outer.count, 65536u);
  EXPECT_EQ(ids->front, kBase + 65536);
  EXPECT_EQ(ids->recorder, kBase + 65537);
  EXPECT_EQ(ids->gateway, kBase + 65538);
  EXPECT_EQ(ids->first_proxy, kBase + 65539);
}

TEST(HostIds, LieWithinWhatAContainerHas) {
  Result<HostIds> ids = planned("0 100000 65536\n", "0 100000 65536\n");

  ASSERT_TRUE(ids);
  EXPECT_GE(ids->front, 20000u);
  EXPECT_GE(slots_of(ids->outer), 2100u) << "the default capacity with its pools";
  EXPECT_LE(ids->first_proxy + slots_of(ids->outer), 65534u) << "nobody's own id stays out";
}

TEST(HostIds, AreDisjoint) {
  Result<HostIds> ids = planned("0 100000 65536\n", "0 100000 65536\n");

  ASSERT_TRUE(ids);
  EXPECT_LT(ids->front, ids->recorder);
  EXPECT_LT(ids->recorder, ids->gateway);
  EXPECT_LT(ids->gateway, ids->outer.first);
  EXPECT_EQ(ids->outer.first + ids->outer.count, ids->first_proxy);
}

TEST(HostIds, AreMappedForUsersAndForGroups) {
  Result<HostIds> ids = planned("0 1000 1\n1 100000 65536\n", "0 1000 1\n1 100000 30000\n");

  ASSERT_TRUE(ids);
  EXPECT_LE(ids->first_proxy + slots_of(ids->outer), 30001u);
}

TEST(HostIds, AreNotTakenAcrossTwoLinesOfTheMap) {
  Result<HostIds> ids = planned("0 0 30000\n30000 90000 30100\n", "0 0 4294967295\n");

  ASSERT_TRUE(ids);
  const std::uint64_t end = ids->first_proxy + slots_of(ids->outer);
  EXPECT_TRUE(end <= 30000 || ids->front >= 30000);
}

TEST(HostIds, NeedOneInARowForEachThatIsGivenAway) {
  const auto first = std::to_string(20'000);
  const std::string enough =
      first + " 0 196\n";  // four of the server, three of each of 64 sessions
  const std::string few = first + " 0 195\n";

  Result<HostIds> ids = planned(enough.c_str(), enough.c_str());
  Result<HostIds> none = planned(few.c_str(), few.c_str());

  ASSERT_TRUE(ids);
  EXPECT_EQ(slots_of(ids->outer), 64u);
  EXPECT_EQ(ids->first_proxy + slots_of(ids->outer), 20'196u) << "all of them, and no other";
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("need 196 in a row"), std::string::npos)
      << none.error().message;
}

TEST(HostIds, SayHowManyThereAreWhereTheyAreTooFew) {
  Result<HostIds> ids = planned("0 1000 1\n", "0 1000 1\n");

  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().code, Code::unsupported);
  EXPECT_NE(ids.error().message.find("has 1 ids"), std::string::npos) << ids.error().message;
  EXPECT_NE(ids.error().remedy.find("subuid"), std::string::npos);
  EXPECT_FALSE(planned("0 0 4294967295\n", "0 0 5\n"));
  EXPECT_FALSE(planned("", ""));
}

}  // namespace
}  // namespace vitrine
