// SPDX-License-Identifier: Apache-2.0
#include "provision/package_errors.h"

#include <gtest/gtest.h>

namespace vitrine::provision {
namespace {

TEST(PackageErrors, HasARemedyForEveryFailureOfTheInstaller) {
  for (const char* code :
       {"package_not_found", "no_wheel", "only_sdist", "build_failed", "needs_compiler", "conflict",
        "offline", "too_big", "hash_mismatch", "bad_package", "install_timeout", "cancelled"}) {
    const Error why = explain(code, "because");

    EXPECT_EQ(why.reason, code);
    EXPECT_EQ(why.message, "because");
    EXPECT_FALSE(why.remedy.empty()) << code;
    EXPECT_TRUE(is_about_packages(why)) << code;
  }
}

TEST(PackageErrors, BelievesNoReasonThatItDoesNotKnow) {
  const Error why = explain("<script>", "because");

  EXPECT_EQ(why.reason, "install_failed");
  EXPECT_EQ(why.code, Code::unavailable);
}

TEST(PackageErrors, NamesThePackageThatTheOperatorKeepsOut) {
  packages::Config config;
  config.deny = {"evil"};

  EXPECT_FALSE(forbidden(config, "polars"));
  const std::optional<Error> why = forbidden(config, "evil");
  ASSERT_TRUE(why);
  EXPECT_EQ(why->reason, "package_forbidden");
  EXPECT_NE(why->message.find("evil"), std::string::npos);
}

TEST(PackageErrors, AreToldFromThoseOfTheSession) {
  EXPECT_FALSE(is_about_packages(no_room("full", "wait"))) << "any session may lack room";
  EXPECT_FALSE(is_about_packages(Error{Code::internal, "x"}));
}

}  // namespace
}  // namespace vitrine::provision
