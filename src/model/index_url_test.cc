// SPDX-License-Identifier: Apache-2.0
#include "model/index_url.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

TEST(IndexUrl, PartsWithItsCredentials) {
  const auto index = parse_index_url("https://us%40er:p%3Aw@Index.Example.org/simple/?x#y");

  ASSERT_TRUE(index);
  EXPECT_EQ(index->plain(), "https://index.example.org/simple/");
  EXPECT_EQ(index->authority(), "index.example.org:443");
  EXPECT_EQ(index->authorization, "Basic dXNAZXI6cDp3");  // us@er:p:w
}

TEST(IndexUrl, KeepsAPortThatIsNotTheUsualOne) {
  EXPECT_EQ(parse_index_url("http://127.0.0.1:3141/root/pypi")->plain(),
            "http://127.0.0.1:3141/root/pypi");
  EXPECT_EQ(parse_index_url("http://[::1]:80/x")->origin(), "http://[::1]");
  EXPECT_EQ(parse_index_url("https://a.org")->plain(), "https://a.org/");
  EXPECT_EQ(parse_index_url("https://a.org/simple")->authorization, "");
}

TEST(IndexUrl, IsNothingElse) {
  for (const char* text : {"", "a.org", "ftp://a.org/", "https://", "https://@/", "https://a:b/",
                           "https://a:123456/", "https://[::1/", "https://a b/", "https://[::1]x/",
                           "https://[::1]x:80/", "https://a]:80/", "https://a:b:80/", "http://::1/",
                           "https://u:p@[a.org]/", "https://[x@::1]:80/", "https://[]/"})
    EXPECT_FALSE(parse_index_url(text)) << text;
}

TEST(IndexHosts, AreHostsWithAnOptionalPort) {
  EXPECT_TRUE(check_index_hosts({}));
  EXPECT_TRUE(check_index_hosts(
      {"a.org", "*.a.org", "A.org:8443", "192.0.2.7:80", "[2001:db8::1]:443", "localhost"}));
}

TEST(IndexHosts, AreNothingElse) {
  for (const char* text :
       {"", "https://a.org", "a.org/simple", "a.org:", "a.org:0", "a.org:65536", "a.org:x", "a b",
        "*", "*.org", "2001:db8::1", "[::1", "a.org?x", "a..b", "a.org\n", "-a.org", "0x7f.1"}) {
    const Status checked = check_index_hosts({"good.org", text});

    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.error().code, Code::invalid_argument);
    EXPECT_NE(checked.error().remedy.find("mirror.example.org:8443"), std::string::npos);
  }
  EXPECT_FALSE(check_index_hosts(std::vector<std::string>(kMaxIndexHosts + 1, "a.org")));
}

TEST(IndexHosts, ThatHoldAPasswordAreNotRepeated) {
  for (const char* text : {"user:secret@a.org", "https://user:secret@a.org/x", "secret@a.org"}) {
    const Status checked = check_index_hosts({text});

    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.error().message.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace vitrine
