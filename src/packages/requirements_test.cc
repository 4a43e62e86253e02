// SPDX-License-Identifier: Apache-2.0
#include "packages/requirements.h"

#include <gtest/gtest.h>

namespace vitrine::packages {
namespace {

std::string text_of(std::string_view text) {
  Result<Requirement> parsed = parse_requirement(text);
  return parsed ? parsed->text() : "refused: " + parsed.error().message;
}

TEST(Requirement, IsANameExtrasAndVersions) {
  EXPECT_EQ(text_of("polars"), "polars");
  EXPECT_EQ(text_of("polars==1.*"), "polars==1.*");
  EXPECT_EQ(text_of("  Ruamel.YAML >= 0.17 , <0.19 "), "ruamel-yaml>=0.17,<0.19");
  EXPECT_EQ(text_of("httpx[socks, HTTP2,http2]~=0.27"), "httpx[http2,socks]~=0.27");
  EXPECT_EQ(text_of("a===1!2.0+local.1"), "a===1!2.0+local.1");
}

TEST(Requirement, IsTheSameAfterItsOwnText) {
  for (const char* text : {"polars==1.*", "httpx[http2]>=1,<2", "x"}) {
    Result<Requirement> first = parse_requirement(text);
    ASSERT_TRUE(first);
    Result<Requirement> again = parse_requirement(first->text());
    ASSERT_TRUE(again);
    EXPECT_EQ(*first, *again);
  }
}

TEST(Requirement, IsNothingElse) {
  for (const char* text : {"",
                           " ",
                           "-r file",
                           "--index-url=http://x/",
                           "-e .",
                           "polars --pre",
                           "polars\n-r x",
                           "polars @ https://example.org/x.whl",
                           "git+https://example.org/x",
                           "file:///etc",
                           "./local",
                           "/etc/passwd",
                           "../x",
                           "~/x",
                           "C:\\x",
                           "polars; python_version<'4'",
                           "polars==",
                           "polars==*",
                           "polars 1",
                           "polars[",
                           "polars[]",
                           "polars[a",
                           "polars[-a]",
                           "==1",
                           "polars,",
                           "polars==1,",
                           "polars=1",
                           "polars==1 2",
                           "-polars",
                           "polars-",
                           "_x",
                           "p\xc3\xb6lars",
                           "\xd1\x80olars",
                           "polars\x01",
                           "polars\t==1",
                           "polars#x",
                           "polars$(id)",
                           "polars|x",
                           "polars==1&x"})
    EXPECT_FALSE(parse_requirement(text)) << text;
}

TEST(Requirement, TellsWhatWasWrongInPlainAscii) {
  Result<Requirement> parsed = parse_requirement("p\xc3\xb6lars\n");

  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::invalid_argument);
  EXPECT_FALSE(parsed.error().remedy.empty());
  for (char c : parsed.error().message) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
}

TEST(Requirement, IsShort) {
  EXPECT_TRUE(parse_requirement(std::string(200, 'a')));
  EXPECT_FALSE(parse_requirement(std::string(201, 'a')));
}

}  // namespace
}  // namespace vitrine::packages
