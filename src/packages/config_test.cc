// SPDX-License-Identifier: Apache-2.0
#include "packages/config.h"

#include <gtest/gtest.h>

namespace vitrine::packages {
namespace {

TEST(PackageConfig, ChecksTheHostsOfAnIndex) {
  EXPECT_FALSE(config_from_json(R"({"index_hosts": ["https://a.org"]})"));
  EXPECT_TRUE(config_from_json(R"({"index_hosts": ["a.org:8443"]})"));
}

TEST(PackageConfig, KeepsCredentialsApartFromTheUrl) {
  const Result<Config> config =
      config_from_json(R"({"index_url": "https://user:hunter2@a.org/simple"})");

  ASSERT_TRUE(config);
  EXPECT_EQ(config->index_url, "https://a.org/simple");
  EXPECT_EQ(config->secrets.at("https://a.org/simple").authorization, "Basic dXNlcjpodW50ZXIy");
}

TEST(PackageConfig, HasAnIndexOfTheirOwnForSomePackages) {
  const Result<Config> config = config_from_json(
      R"({"index_for": {"My_Torch": "https://user:secret@index.example.org/cpu"}})");

  ASSERT_TRUE(config);
  EXPECT_EQ(config->index_for.at("my-torch"), "https://index.example.org/cpu");
  EXPECT_TRUE(config->secrets.contains("https://index.example.org/cpu")) << "kept apart";
}

}  // namespace
}  // namespace vitrine::packages
