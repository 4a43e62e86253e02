// SPDX-License-Identifier: Apache-2.0
#include "app/openenv_variables.h"

#include <gtest/gtest.h>

namespace vitrine::app {
namespace {

TEST(ExecutorBackend, NamesAPolicy) {
  EXPECT_EQ(*read_executor_backend(""), std::nullopt);
  EXPECT_EQ(*read_executor_backend("Native"), Policy::native);
  EXPECT_EQ(*read_executor_backend("RestrictedPython"), Policy::restricted);
  EXPECT_EQ(*read_executor_backend("smolagents"), Policy::smolagents);
}

TEST(ExecutorBackend, IsRefusedIfItDoesNotExist) {
  const auto read = read_executor_backend("docker");

  ASSERT_FALSE(read);
  EXPECT_FALSE(read.error().remedy.empty());
}

}  // namespace
}  // namespace vitrine::app
