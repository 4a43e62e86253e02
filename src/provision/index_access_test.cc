// SPDX-License-Identifier: Apache-2.0
#include "provision/index_access.h"

#include <gtest/gtest.h>

#include "testing/fake_gateways.h"
#include "testing/front.h"

namespace vitrine::provision {
namespace {

using Names = std::vector<std::string>;

struct Indexes {
  Indexes() {
    front.listen([](const wire::Event&) {});
  }
  IndexAccess access() { return {front.context.get_executor(), front.link, config}; }

  vitrine::testing::Front front;
  vitrine::testing::FakeGateways gateways{front.keeper};
  packages::Config config;
};

TEST(IndexAccess, IsTheImagesOwnWhereTheOperatorNamesNone) {
  Indexes with;
  IndexAccess index = with.access();
  index.set_default("https://index.example/simple");

  Result<IndexAccess::Pass> pass = with.front.run(index.admit());

  ASSERT_TRUE(pass);
  EXPECT_EQ(pass->urls, Names{"https://index.example/simple"});
  EXPECT_EQ(index.hosts(), Names{"index.example:443"});
}

TEST(IndexAccess, ReachesNothingWithoutAnIndex) {
  Indexes with;
  with.config.index_url = "none";
  with.config.extra_index_urls = {"https://extra.example/simple"};
  with.config.index_hosts = {"files.example:443"};
  IndexAccess index = with.access();

  Result<IndexAccess::Pass> pass = with.front.run(index.admit());

  ASSERT_TRUE(pass);
  EXPECT_TRUE(pass->urls.empty());
  EXPECT_TRUE(index.hosts().empty());
}

TEST(IndexAccess, TellsOfTheGatewayInPlaceOfAnIndexWithCredentials) {
  Indexes with;
  const std::string url = "https://private.example/simple";
  with.config.index_url = url;
  std::optional<IndexUrl> secret = parse_index_url("https://user:hunter2@private.example/simple");
  ASSERT_TRUE(secret);
  with.config.secrets[url] = *secret;
  IndexAccess index = with.access();

  Result<IndexAccess::Pass> pass = with.front.run(index.admit());

  ASSERT_TRUE(pass) << pass.error().message;
  ASSERT_EQ(pass->urls.size(), 1u);
  ASSERT_EQ(pass->tickets.size(), 1u);
  const std::string gate = "127.0.0.1:" + std::to_string(index.gate_port());
  EXPECT_NE(pass->urls[0].find("@" + gate + "/simple"), std::string::npos) << pass->urls[0];
  EXPECT_EQ(pass->urls[0].find("hunter2"), std::string::npos);
  EXPECT_TRUE(index.hosts().empty()) << "its session must not reach the index itself";
  EXPECT_EQ(index.without_gate("GET http://" + gate + "/x"), "GET https://private.example/x");
}

TEST(IndexAccess, IsRefusedWhereTheGatewayOfAnIndexCannotStart) {
  Indexes with;
  const std::string url = "https://private.example/simple";
  with.config.index_url = url;
  with.config.secrets[url] = *parse_index_url("https://user:hunter2@private.example/simple");
  with.front.keeper.refuse<wire::StartGateway>({Code::unsupported, "no gateway"});
  IndexAccess index = with.access();

  Result<IndexAccess::Pass> pass = with.front.run(index.admit());

  ASSERT_FALSE(pass) << "and never the URL with the credentials";
  EXPECT_EQ(pass.error().code, Code::unsupported);
}

TEST(IndexAccess, RemembersTheNewestHostsFirstAndNotForEver) {
  Indexes with;
  IndexAccess index = with.access();
  index.remember({"old.example:443"});
  index.remember({"new.example:443"});
  EXPECT_EQ(index.found(), (Names{"new.example:443", "old.example:443"}));

  index.remember({"old.example:443"});
  EXPECT_EQ(index.found(), (Names{"old.example:443", "new.example:443"}));

  for (int i = 0; i < 100; ++i) index.remember({"host" + std::to_string(i) + ".example:443"});
  EXPECT_EQ(index.found().size(), 32u);
  EXPECT_EQ(index.found().front(), "host99.example:443");
}

}  // namespace
}  // namespace vitrine::provision
