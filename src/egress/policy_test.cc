// SPDX-License-Identifier: Apache-2.0
#include "egress/policy.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace vitrine::egress {
namespace {

Policy policy(std::vector<std::string> allow, std::vector<std::string> opened = {}) {
  Result<Policy> made = Policy::make({.allow = std::move(allow), .private_ = std::move(opened)});
  EXPECT_TRUE(made);
  return std::move(*made);
}

Address at(const std::string& text) {
  const std::optional<Address> address = parse_address(text);
  EXPECT_TRUE(address) << text;
  return address.value_or(Address{});
}

TEST(SpecialUse, KnowsEveryRangeByItsEdges) {
  for (const char* text : {"0.0.0.0",
                           "0.255.255.255",
                           "10.0.0.0",
                           "10.255.255.255",
                           "100.64.0.0",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.255.255",
                           "169.254.0.0",
                           "169.254.169.254",
                           "172.16.0.0",
                           "172.31.255.255",
                           "192.0.0.1",
                           "192.0.2.1",
                           "192.88.99.1",
                           "192.168.0.0",
                           "192.168.255.255",
                           "198.18.0.0",
                           "198.19.255.255",
                           "198.51.100.1",
                           "203.0.113.1",
                           "224.0.0.1",
                           "239.255.255.255",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::ffff:127.0.0.1",
                           "::ffff:10.0.0.1",
                           "::ffff:169.254.169.254",
                           "64:ff9b::a00:1",
                           "64:ff9b:1::1",
                           "100::1",
                           "2001::1",
                           "2001:db8::1",
                           "2002:7f00:1::1",
                           "3fff::1",
                           "fc00::1",
                           "fdff::1",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "::127.0.0.1",
                           "4000::1"})
    EXPECT_NE(special_use(at(text)), nullptr) << text;
}

TEST(SpecialUse, LeavesThePublicInternetOpen) {
  for (const char* text :
       {"1.1.1.1",        "8.8.8.8",         "9.255.255.255",   "11.0.0.0",        "100.63.255.255",
        "100.128.0.0",    "126.255.255.255", "128.0.0.0",       "169.253.255.255", "169.255.0.0",
        "172.15.255.255", "172.32.0.0",      "192.0.1.0",       "192.167.255.255", "192.169.0.0",
        "198.17.255.255", "198.20.0.0",      "223.255.255.255", "2606:4700::1111", "2a00:1450::1",
        "2001:200::1"})
    EXPECT_EQ(special_use(at(text)), nullptr) << text;
}

TEST(Policy, RefusesTheServersOwnAddressesToo) {
  const Policy some = policy({"example.org"});

  EXPECT_FALSE(some.refuses(at("1.2.3.4"), {at("5.6.7.8")}));
  EXPECT_EQ(some.refuses(at("1.2.3.4"), {at("1.2.3.4")}), "the server's own");
  EXPECT_EQ(some.refuses(at("::ffff:1.2.3.4"), {at("1.2.3.4")}), "the server's own");
}

TEST(Policy, OpensWhatTheOperatorNamedAndNoMore) {
  const Policy some = policy({"example.org"}, {"10.1.0.0/16", "fd00:1::/32"});

  EXPECT_FALSE(some.refuses(at("10.1.2.3"), {at("10.9.9.9")}));
  EXPECT_FALSE(some.refuses(at("::ffff:10.1.2.3"), {}));
  EXPECT_FALSE(some.refuses(at("fd00:1::5"), {}));
  EXPECT_TRUE(some.refuses(at("10.2.0.0"), {}));
  EXPECT_TRUE(some.refuses(at("fd00:2::5"), {}));
  EXPECT_TRUE(some.refuses(at("127.0.0.1"), {}));
}

TEST(Policy, OpensTheServerItselfOnlyByItsVeryAddress) {
  const std::vector<Address> own{at("10.1.2.3"), at("1.2.3.4"), at("fd00::1")};

  EXPECT_TRUE(policy({"a.org"}, {"10.0.0.0/8", "0.0.0.0/0"}).refuses(at("10.1.2.3"), own));
  EXPECT_TRUE(policy({"a.org"}, {"0.0.0.0/0"}).refuses(at("1.2.3.4"), own));
  EXPECT_TRUE(policy({"a.org"}, {"fd00::/8"}).refuses(at("fd00::1"), own));
  EXPECT_FALSE(policy({"a.org"}, {"10.1.2.3/32"}).refuses(at("10.1.2.3"), own));
  EXPECT_FALSE(policy({"a.org"}, {"fd00::1"}).refuses(at("fd00::1"), own));
}

TEST(Policy, NamesTheRuleThatAllows) {
  const Policy some = policy({"example.org", "*.example.net:8443", "1.2.3.4:80"});

  EXPECT_EQ(*some.rule_for("a.example.net", 8443), "*.example.net:8443");
  EXPECT_EQ(*some.rule_for("1.2.3.4", 80), "1.2.3.4:80");
  EXPECT_EQ(some.rule_for("example.org", 22), nullptr);
  EXPECT_EQ(some.rule_for("evil.org", 443), nullptr);
  EXPECT_EQ(some.rule_for("16909060", 80), nullptr);
}

TEST(OwnAddresses, HoldLoopback) {
  const auto own = own_addresses();

  ASSERT_TRUE(own);
  EXPECT_NE(std::ranges::find(*own, at("127.0.0.1")), own->end());
}

TEST(Policy, OpensOnePortOfThisMachineForTheIndex) {
  Result<Policy> some = Policy::make({.allow = {"a.org"}, .private_ = {}, .gate = 40123});
  ASSERT_TRUE(some);

  EXPECT_TRUE(some->is_gate("127.0.0.1", 40123));
  EXPECT_FALSE(some->is_gate("127.0.0.1", 40124));
  EXPECT_FALSE(some->is_gate("localhost", 40123));
  EXPECT_EQ(some->rule_for("127.0.0.1", 40123), nullptr);
  EXPECT_FALSE(policy({"a.org"}).is_gate("127.0.0.1", 0));
}

}  // namespace
}  // namespace vitrine::egress
