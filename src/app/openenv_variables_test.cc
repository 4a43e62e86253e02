// SPDX-License-Identifier: Apache-2.0
#include "app/openenv_variables.h"

#include <gtest/gtest.h>

namespace vitrine::app {
namespace {

TEST(OpenEnvVariables, AreNativeUnlessNamed) {
  EXPECT_EQ(read_openenv_variables("", "")->policy, "native");
  EXPECT_EQ(read_openenv_variables("Native", "")->policy, "native");
}

TEST(OpenEnvVariables, RefuseABackendThatIsNotHere) {
  for (const char* name : {"smolagents", "docker"}) {
    const auto read = read_openenv_variables(name, "");

    ASSERT_FALSE(read) << name;
    EXPECT_FALSE(read.error().remedy.empty());
  }
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
