// SPDX-License-Identifier: Apache-2.0
#include "model/session.h"

#include <gtest/gtest.h>

#include <set>

namespace vitrine {
namespace {

TEST(Variant, HasANameOfItsOwnForEach) {
  std::set<std::string_view> names;

  for (std::uint8_t i = 0; i < kVariants; ++i) names.insert(to_string(Variant{i}));

  EXPECT_EQ(names, (std::set<std::string_view>{"bare", "loaded", "seeded"}));
}

TEST(Policy, IsFoundByItsName) {
  for (std::uint8_t i = 0; i < kPolicies; ++i)
    EXPECT_EQ(policy_from(to_string(Policy{i})), Policy{i}) << int{i};
  EXPECT_EQ(policy_from("restrictedpython"), Policy::restricted);
  for (const char* name : {"", "Native", "unknown", "restricted ", "python"})
    EXPECT_FALSE(policy_from(name)) << name;
}

TEST(Cause, HasANameOfItsOwnForEach) {
  std::set<std::string_view> names;

  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(Cause::killed); ++i)
    names.insert(to_string(Cause{i}));

  EXPECT_EQ(names.size(), 5u);
}

}  // namespace
}  // namespace vitrine
