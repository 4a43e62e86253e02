// SPDX-License-Identifier: Apache-2.0
#include "model/execution.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

ExecRecord refused(const std::string& value) {
  ExecRecord record;
  record.outcome = Outcome::policy;
  record.error = ExecError{.name = "PolicyViolation", .value = value, .traceback = ""};
  return record;
}

TEST(RuleOf, IsTheRuleThatTheErrorNames) {
  EXPECT_EQ(rule_of(refused("import: line 1: the module 'os' may not be imported")), "import");
  EXPECT_EQ(rule_of(refused("smolagents: line 2: no")), "smolagents");
}

TEST(RuleOf, BelievesOnlyRulesThatExist) {
  EXPECT_EQ(rule_of(refused("anything\"} 1: x")), "other");
  EXPECT_EQ(rule_of(refused("important: x")), "other");
  EXPECT_EQ(rule_of(refused("")), "other");
  ExecRecord silent;
  silent.outcome = Outcome::policy;
  EXPECT_EQ(rule_of(silent), "other");
}

TEST(RuleOf, IsNoneWhereNothingWasRefused) {
  ExecRecord failed = refused("import: line 1: x");
  failed.outcome = Outcome::exception;

  EXPECT_EQ(rule_of(failed), "");
}

}  // namespace
}  // namespace vitrine
