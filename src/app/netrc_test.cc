// SPDX-License-Identifier: Apache-2.0
#include "app/netrc.h"

#include <gtest/gtest.h>

namespace vitrine::app {
namespace {

TEST(Netrc, GivesAHostItsCredentials) {
  const auto machines = parse_netrc(
      "# ours\nmachine a.org login me password p@ss/w\n"
      "machine b.org:8443\n  login you\n  password x\n");

  ASSERT_TRUE(machines);
  EXPECT_EQ(with_credentials("https://a.org/simple", *machines),
            "https://me:p%40ss%2Fw@a.org/simple");
  EXPECT_EQ(with_credentials("https://b.org:8443/s", *machines), "https://you:x@b.org:8443/s");
  EXPECT_EQ(with_credentials("https://b.org/s", *machines), "https://b.org/s");
  EXPECT_EQ(with_credentials("https://it:self@a.org/s", *machines), "https://it:self@a.org/s");
  EXPECT_EQ(with_credentials("none", *machines), "none");
}

TEST(Netrc, RefusesWhatItDoesNotKnowAndTellsNoPassword) {
  for (const char* text : {"", "machine", "login me", "default login a password secret",
                           "machine a.org\n", "machine a.org login me macdef x"}) {
    const auto machines = parse_netrc(text);
    ASSERT_FALSE(machines) << text;
    EXPECT_EQ(machines.error().message.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace vitrine::app
