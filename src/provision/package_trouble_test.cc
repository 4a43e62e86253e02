// SPDX-License-Identifier: Apache-2.0
#include "provision/package_trouble.h"

#include <gtest/gtest.h>

namespace vitrine::provision {
namespace {

TEST(PackageTrouble, HasARemedyForEveryFailureOfTheInstaller) {
  for (const char* code :
       {"package_not_found", "no_wheel", "only_sdist", "build_failed", "needs_compiler", "conflict",
        "offline", "too_big", "hash_mismatch", "bad_package", "install_timeout", "cancelled"}) {
    const PackageTrouble why = explain(code, "because");

    EXPECT_EQ(why.code, code);
    EXPECT_EQ(why.detail, "because");
    EXPECT_FALSE(why.remedy.empty()) << code;
  }
}

TEST(PackageTrouble, BelievesNoCodeThatItDoesNotKnow) {
  const PackageTrouble why = explain("<script>", "because");

  EXPECT_EQ(why.code, "install_failed");
  EXPECT_EQ(why.status, 502);
}

TEST(PackageTrouble, NamesThePackageThatTheOperatorKeepsOut) {
  packages::Config config;
  config.deny = {"evil"};

  EXPECT_FALSE(forbidden(config, "polars"));
  const std::optional<PackageTrouble> why = forbidden(config, "evil");
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, "package_forbidden");
  EXPECT_EQ(why->status, 403);
  EXPECT_NE(why->detail.find("evil"), std::string::npos);
}

}  // namespace
}  // namespace vitrine::provision
