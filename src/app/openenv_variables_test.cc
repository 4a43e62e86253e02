// SPDX-License-Identifier: Apache-2.0
#include "app/openenv_variables.h"

#include <gtest/gtest.h>

namespace vitrine::app {
namespace {

TEST(OpenEnvVariables, NameAPolicy) {
  EXPECT_FALSE(read_openenv_variables("", "")->policy);
  EXPECT_EQ(read_openenv_variables("Native", "")->policy, Policy::native);
  EXPECT_EQ(read_openenv_variables("RestrictedPython", "")->policy, Policy::restricted);
  EXPECT_EQ(read_openenv_variables("smolagents", "")->policy, Policy::smolagents);
}

TEST(OpenEnvVariables, RefuseABackendThatDoesNotExist) {
  const auto read = read_openenv_variables("docker", "");

  ASSERT_FALSE(read);
  EXPECT_FALSE(read.error().remedy.empty());
}

TEST(OpenEnvVariables, TakeNamesOfImportsAndSayWhatBecomesOfThem) {
  const auto read = read_openenv_variables("", "numpy, pandas.core,,");

  ASSERT_TRUE(read);
  EXPECT_EQ(read->imports, (std::vector<std::string>{"numpy", "pandas.core"}));
  EXPECT_EQ(read->notes.size(), 1u);
  EXPECT_FALSE(read_openenv_variables("", "numpy; rm -rf"));
}

}  // namespace
}  // namespace vitrine::app
