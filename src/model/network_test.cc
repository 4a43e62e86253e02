// SPDX-License-Identifier: Apache-2.0
#include "model/network.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

NetworkRule rule(std::string_view text) {
  Result<NetworkRule> parsed = parse_network_rule(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : NetworkRule{};
}

TEST(HostKind, KnowsTheOneSpellingOfEach) {
  EXPECT_EQ(host_kind("example.org"), HostKind::name);
  EXPECT_EQ(host_kind("localhost"), HostKind::name);
  EXPECT_EQ(host_kind("xn--mnchen-3ya.de"), HostKind::name);
  EXPECT_EQ(host_kind("_dmarc.example.org"), HostKind::name);
  EXPECT_EQ(host_kind("192.0.2.7"), HostKind::ipv4);
  EXPECT_EQ(host_kind("2001:db8::1"), HostKind::ipv6);
}

TEST(HostKind, RefusesEveryOtherSpelling) {
  for (const char* odd : {"127.1",
                          "0x7f.1",
                          "0x7f000001",
                          "2130706433",
                          "017700000001",
                          "127.0.0.01",
                          "1.2.3.4.",
                          "0177.0.0.1",
                          "example.org.",
                          ".example.org",
                          "example..org",
                          "EXAMPLE.org",
                          "-a.org",
                          "a-.org",
                          "exa mple.org",
                          "ex%61mple.org",
                          "m\xc3\xbcnchen.de",
                          "[::1]",
                          "::FFFF:1.2.3.4",
                          "0:0:0:0:0:0:0:1",
                          "2001:DB8::1",
                          "fe80::1%eth0",
                          "a@b.org",
                          "a:b",
                          "",
                          "a.0x1",
                          "a.5",
                          "*",
                          "*.example.org",
                          "a/b",
                          "a\\b",
                          "a#b",
                          "a?b"})
    EXPECT_FALSE(host_kind(odd)) << odd;
  EXPECT_FALSE(host_kind(std::string_view("1.2.3.4\0x", 9)));
  EXPECT_FALSE(host_kind(std::string(64, 'a') + ".org"));
  EXPECT_FALSE(host_kind(std::string(300, 'a')));
}

TEST(NetworkRule, MeansTheUsualPortsUnlessItNamesOne) {
  EXPECT_TRUE(rule("example.org").matches("example.org", 80));
  EXPECT_TRUE(rule("example.org").matches("example.org", 443));
  EXPECT_FALSE(rule("example.org").matches("example.org", 22));
  EXPECT_TRUE(rule("example.org:8443").matches("example.org", 8443));
  EXPECT_FALSE(rule("example.org:8443").matches("example.org", 443));
}

TEST(NetworkRule, OfASuffixMeansWhatLiesBelowItOnly) {
  const NetworkRule below = rule("*.example.org");

  EXPECT_TRUE(below.matches("a.example.org", 443));
  EXPECT_TRUE(below.matches("a.b.example.org", 443));
  EXPECT_FALSE(below.matches("example.org", 443));
  EXPECT_FALSE(below.matches("badexample.org", 443));
  EXPECT_FALSE(below.matches(".example.org", 443));
  EXPECT_FALSE(below.matches("a.example.org.evil.net", 443));
}

TEST(NetworkRule, IsReadInAnyCaseAndKeptInOne) {
  EXPECT_EQ(rule("Example.ORG").host, "example.org");
  EXPECT_EQ(rule("[2001:db8::1]:443").host, "2001:db8::1");
}

TEST(NetworkRule, RefusesWhatIsNoHost) {
  for (const char* bad : {"",
                          "*",
                          "*:443",
                          "*.org",
                          "*.*.org",
                          "a.*.org",
                          "http://example.org",
                          "example.org/x",
                          "example.org:",
                          "example.org:0",
                          "example.org:65536",
                          "example.org:080",
                          "example.org:x",
                          "a:b:c",
                          "127.1",
                          "*.1.2.3.4",
                          "::1",
                          "[::1",
                          "[::1]x",
                          "[::1]:",
                          "[example.org]",
                          "m\xc3\xbcnchen.de",
                          "example.org.",
                          "a b"}) {
    Result<NetworkRule> parsed = parse_network_rule(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_FALSE(parsed.error().remedy.empty()) << bad;
  }
}

TEST(Network, HasOneToSixtyFourRules) {
  EXPECT_FALSE(Network{}.validate());
  EXPECT_TRUE(Network{{"example.org"}}.validate());
  EXPECT_TRUE(Network{std::vector<std::string>(64, "example.org")}.validate());
  EXPECT_FALSE(Network{std::vector<std::string>(65, "example.org")}.validate());
}

TEST(AddressRange, IsAnAddressAndABitCount) {
  EXPECT_EQ(parse_address_range("10.1.0.0/16")->bits, 16u);
  EXPECT_EQ(parse_address_range("10.1.0.7")->bits, 32u);
  EXPECT_EQ(parse_address_range("fd00::/8")->prefix.size(), 16u);
  for (const char* bad : {"", "10.1/16", "10.1.0.0/33", "10.1.0.0/", "x/8", "fd00::/129", "/8"})
    EXPECT_FALSE(parse_address_range(bad)) << bad;
}

}  // namespace
}  // namespace vitrine
