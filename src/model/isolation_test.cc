// SPDX-License-Identifier: Apache-2.0
#include "model/isolation.h"

#include <gtest/gtest.h>

#include <set>

namespace vitrine {
namespace {

TEST(IsolationKind, IsReadByTheNameItHas) {
  for (std::uint8_t i = 0; i < kIsolations; ++i) {
    const auto kind = static_cast<IsolationKind>(i);
    EXPECT_EQ(isolation_from(to_string(kind)), kind);
  }
}

TEST(IsolationKind, HasNoOtherNames) {
  for (const char* name : {"", "none", "Process", "docker", "?"})
    EXPECT_FALSE(isolation_from(name)) << name;
}

TEST(Capabilities, HoldWhatWasAddedAndNothingElse) {
  const Capabilities some{Capability::files, Capability::network};

  EXPECT_TRUE(some.has(Capability::files));
  EXPECT_TRUE(some.has(Capability::network));
  EXPECT_FALSE(some.has(Capability::display));
}

TEST(Capabilities, HaveNamesThatDiffer) {
  std::set<std::string_view> names;
  for (const Capability one : kAllCapabilities) names.insert(to_string(one));

  EXPECT_EQ(names.size(), kAllCapabilities.size());
  EXPECT_FALSE(names.contains("?"));
}

}  // namespace
}  // namespace vitrine
