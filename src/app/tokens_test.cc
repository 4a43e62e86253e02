// SPDX-License-Identifier: Apache-2.0
#include "app/tokens.h"

#include <gtest/gtest.h>

#include "base/sha256.h"

namespace vitrine::app {
namespace {

const std::string kSecret = "a-secret-of-team-a";

std::string mistake_in(const std::string& entry) {
  Result<std::vector<Token>> tokens = parse_tokens("{\"tokens\": [" + entry + "]}");
  if (tokens) return "";
  EXPECT_FALSE(tokens.error().remedy.empty()) << entry;
  EXPECT_EQ(tokens.error().describe().find(kSecret), std::string::npos) << "tells a token";
  return tokens.error().message.substr(0, tokens.error().message.find(':'));
}

TEST(Tokens, ReadsNamesHashesAndQuotas) {
  const auto tokens = parse_tokens(R"({"tokens": [
      {"name": "a", "token": "a-secret-of-team-a", "sessions": 5, "executions_per_minute": 60,
       "memory_mb": 1024}, {"name": "b", "sha256": ")" +
                                   sha256_hex("b") + R"("}]})");

  ASSERT_TRUE(tokens);
  ASSERT_EQ(tokens->size(), 2u);
  EXPECT_EQ((*tokens)[0].sha256, sha256_hex(kSecret));
  EXPECT_EQ((*tokens)[0].identity.quota.sessions, 5u);
  EXPECT_EQ((*tokens)[0].identity.quota.memory_bytes, 1024ull << 20);
  EXPECT_FALSE((*tokens)[1].identity.quota.sessions);
  EXPECT_FALSE((*tokens)[1].identity.sees_all);
}

TEST(Tokens, WritesWhatItReadsWithoutTheTokens) {
  const auto tokens =
      parse_tokens(R"({"tokens": [{"name": "a", "token": "a-secret-of-team-a", "memory_mb": 7}]})");
  ASSERT_TRUE(tokens);

  const std::string written = tokens_json(*tokens);

  EXPECT_EQ(written.find(kSecret), std::string::npos);
  const auto again = parse_tokens(written);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)[0].sha256, (*tokens)[0].sha256);
  EXPECT_EQ((*again)[0].identity.quota.memory_bytes, 7ull << 20);
}

TEST(Tokens, NamesTheFieldThatIsWrong) {
  const std::string good = R"("token": "a-secret-of-team-a")";
  EXPECT_EQ(mistake_in("{\"name\": \"a\", " + good + "}"), "");
  EXPECT_EQ(mistake_in("7"), "tokens[0]");
  EXPECT_EQ(mistake_in("{" + good + "}"), "tokens[0].name");
  EXPECT_EQ(mistake_in("{\"name\": \"a b\", " + good + "}"), "tokens[0].name");
  EXPECT_EQ(mistake_in("{\"name\": 7, " + good + "}"), "tokens[0].name");
  EXPECT_EQ(mistake_in("{\"name\": \"owner\", " + good + "}"), "tokens[0].name");
  EXPECT_EQ(mistake_in(R"({"name": "a"})"), "tokens[0].token");
  EXPECT_EQ(mistake_in(R"({"name": "a", "token": "short"})"), "tokens[0].token");
  EXPECT_EQ(mistake_in(R"({"name": "a", "token": "with a space in it"})"), "tokens[0].token");
  EXPECT_EQ(mistake_in(R"({"name": "a", "sha256": "ABC"})"), "tokens[0].sha256");
  EXPECT_EQ(mistake_in("{\"name\": \"a\", \"sha256\": \"\", " + good + "}"), "tokens[0].token");
  EXPECT_EQ(mistake_in("{\"name\": \"a\", \"sessions\": 0, " + good + "}"), "tokens[0].sessions");
  EXPECT_EQ(mistake_in("{\"name\": \"a\", \"sessions\": -1, " + good + "}"), "tokens[0].sessions");
  EXPECT_EQ(mistake_in("{\"name\": \"a\", \"memory_mb\": 1.5, " + good + "}"),
            "tokens[0].memory_mb");
  EXPECT_EQ(mistake_in("{\"name\": \"a\", \"session\": 1, " + good + "}"), "tokens[0].session");
  EXPECT_EQ(mistake_in("{\"name\": \"a\", " + good + "}, {\"name\": \"a\", \"token\": \"" +
                       "another-long-secret\"}"),
            "tokens[1].name");
  EXPECT_EQ(mistake_in("{\"name\": \"a\", " + good + "}, {\"name\": \"b\", " + good + "}"),
            "tokens[1].token");
}

TEST(Tokens, RefusesWhatIsNoListOfTokens) {
  for (const char* text : {"", "[]", "{}", "{\"tokens\": {}}", "{\"tokens\": [], \"x\": 1}", "{"})
    EXPECT_FALSE(parse_tokens(text)) << text;
}

}  // namespace
}  // namespace vitrine::app
