// SPDX-License-Identifier: Apache-2.0
#include "api/target.h"

#include <gtest/gtest.h>

namespace vitrine::api {
namespace {

using Query = std::map<std::string, std::string>;

TEST(Target, IsAPathWithoutAQuery) {
  const auto target = parse_target("/v1/sessions");

  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/v1/sessions");
  EXPECT_EQ(target->query, Query{});
  EXPECT_EQ(target->authority, "");
}

TEST(Target, DecodesPathAndQuery) {
  const auto target = parse_target("/a%20b/%C3%BC?x=1%262&y=a+b&empty&=nameless");

  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/a b/ü");
  EXPECT_EQ(target->query, (Query{{"x", "1&2"}, {"y", "a b"}, {"empty", ""}}));
}

TEST(Target, LeavesAPlusInThePathAlone) { EXPECT_EQ(parse_target("/a+b")->path, "/a+b"); }

TEST(Target, KeepsTheLastOfARepeatedName) {
  EXPECT_EQ(parse_target("/?x=1&x=2")->query, (Query{{"x", "2"}}));
}

TEST(Target, SplitsTheQueryAtTheFirstMarkAndTheValueAtTheFirstEquals) {
  EXPECT_EQ(parse_target("/p?a=b=c?d")->query, (Query{{"a", "b=c?d"}}));
}

TEST(Target, UnderstandsTheAbsoluteForm) {
  const auto target = parse_target("http://box:8000/v1/info?a=1");

  ASSERT_TRUE(target);
  EXPECT_EQ(target->authority, "box:8000");
  EXPECT_EQ(target->path, "/v1/info");
  EXPECT_EQ(target->query, (Query{{"a", "1"}}));
  EXPECT_EQ(parse_target("https://box")->path, "/");
  EXPECT_EQ(parse_target("http://box?a=1")->path, "/");
}

TEST(Target, RefusesWhatIsNeitherForm) {
  for (const char* text : {"", "*", "health", "http://", "http:///v1", "ftp://box/", "?a=1"})
    EXPECT_FALSE(parse_target(text)) << text;
}

TEST(Target, RefusesBadEscapesAnywhere) {
  for (const char* text : {"/%", "/%4", "/%zz", "/%00", "/a?%zz=1", "/a?x=%", "/a?x=%4", "/a?x=%00",
                           "/a?ok=1&x=%g0", "http://box/%"})
    EXPECT_FALSE(parse_target(text)) << text;
}

TEST(DecodePercent, TakesBothCases) { EXPECT_EQ(decode_percent("%4a%4A%2f"), "JJ/"); }

}  // namespace
}  // namespace vitrine::api
