// SPDX-License-Identifier: Apache-2.0
#include "api/identities.h"

#include <gtest/gtest.h>

#include "base/sha256.h"

namespace vitrine::api {
namespace {

std::vector<Token> two_teams() {
  std::vector<Token> tokens(2);
  tokens[0].identity.name = "a";
  tokens[0].sha256 = sha256_hex("token of team a");
  tokens[1].identity.name = "b";
  tokens[1].sha256 = sha256_hex("token of team b");
  return tokens;
}

TEST(Identities, FindsWhoseTokenItIs) {
  const Identities identities("token of the owner", two_teams());

  ASSERT_NE(identities.find("token of the owner"), nullptr);
  EXPECT_TRUE(identities.find("token of the owner")->sees_all);
  ASSERT_NE(identities.find("token of team b"), nullptr);
  EXPECT_EQ(identities.find("token of team b")->name, "b");
  EXPECT_FALSE(identities.find("token of team b")->sees_all);
}

TEST(Identities, FindsNobodyForWhatIsNoToken) {
  const Identities identities("token of the owner", two_teams());

  for (const char* wrong : {"", "token of team", "token of team a ", "Token of team a", "owner"})
    EXPECT_EQ(identities.find(wrong), nullptr) << wrong;
  EXPECT_EQ(identities.find(sha256_hex("token of team a")), nullptr) << "the hash is no token";
}

TEST(Identities, AnEmptyTokenIsNobodys) {
  const Identities identities;

  EXPECT_EQ(identities.find(""), nullptr);
  EXPECT_EQ(identities.find("x"), nullptr);
}

TEST(Identities, ChangeTheirTokensAndStayWhoTheyAre) {
  Identities identities("token of the owner", two_teams());
  const Identity* a = identities.find("token of team a");
  const Identity* b = identities.find("token of team b");
  std::vector<Token> others(2);
  others[0].identity.name = "a";
  others[0].identity.quota.sessions = 3;
  others[0].sha256 = sha256_hex("another token of team a");
  others[1].identity.name = "c";
  others[1].sha256 = sha256_hex("token of team b");  // handed on

  Result<std::vector<const Identity*>> added = identities.change(others);

  ASSERT_TRUE(added);
  ASSERT_EQ(added->size(), 1u);
  EXPECT_EQ(added->front()->name, "c");
  EXPECT_EQ(identities.find("token of team a"), nullptr);
  EXPECT_EQ(identities.find("another token of team a"), a);
  EXPECT_EQ(a->quota.sessions, 3u);
  EXPECT_EQ(identities.find("token of team b"), added->front());
  EXPECT_FALSE(identities.is_welcome(*b));
  EXPECT_TRUE(identities.is_welcome(*a));
  EXPECT_TRUE(identities.is_welcome(identities.anonymous()));
  EXPECT_TRUE(identities.find("token of the owner")->sees_all);
  ASSERT_TRUE(identities.change(two_teams()));
  EXPECT_EQ(identities.find("token of team b"), b) << "who comes back is the same";
}

TEST(Identities, StayAsTheyWereWhenATokenIsTheOwners) {
  Identities identities("token of the owner", two_teams());
  std::vector<Token> others(1);
  others[0].identity.name = "c";
  others[0].sha256 = sha256_hex("token of the owner");

  EXPECT_FALSE(identities.change(others));

  EXPECT_NE(identities.find("token of team a"), nullptr);
  EXPECT_TRUE(identities.find("token of the owner")->sees_all);
}

TEST(SameSecret, ComparesAllOfBoth) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "abcabc"));
  EXPECT_FALSE(same_secret("abcabc", "abc"));
  EXPECT_FALSE(same_secret("", ""));
}

}  // namespace
}  // namespace vitrine::api
