// SPDX-License-Identifier: Apache-2.0
#include "jail/seccomp_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

namespace vitrine::jail {
namespace {

using Rules = std::vector<SyscallRule>;

// How many of `rules` hold for this first argument.
long matches(const Rules& rules, std::uint32_t argument) {
  return std::count_if(rules.begin(), rules.end(), [&](const SyscallRule& rule) {
    return std::all_of(rule.when.begin(), rule.when.end(),
                       [&](const auto& m) { return (argument & m.mask) == m.value; });
  });
}

std::string complaint(std::string_view text) {
  Result<Rules> rules = parse_seccomp_policy(text);
  return rules ? "none" : rules.error().message;
}

TEST(SeccompPolicy, ReadsActionsAndIgnoresComments) {
  auto rules =
      parse_seccomp_policy("# why\nallow read write # both\ndeny EPERM bpf\nanswer 0 sync\n");

  ASSERT_TRUE(rules);
  ASSERT_EQ(rules->size(), 4u);
  EXPECT_EQ((*rules)[1].syscall, "write");
  EXPECT_EQ((*rules)[1].action.kind, SyscallAction::Kind::allow);
  EXPECT_EQ((*rules)[2].action, (SyscallAction{SyscallAction::Kind::fail, EPERM}));
  EXPECT_EQ((*rules)[3].action, (SyscallAction{SyscallAction::Kind::fail, 0}));
  EXPECT_EQ((*rules)[3].line, 4);
}

TEST(SeccompPolicy, TellsOptionalNamesFromRequiredOnes) {
  auto rules = parse_seccomp_policy("deny EPERM bpf ?listmount");

  ASSERT_TRUE(rules);
  EXPECT_EQ((*rules)[0].spelling, Spelling::must_exist);
  EXPECT_EQ((*rules)[1].spelling, Spelling::may_be_unknown);
  EXPECT_EQ((*rules)[1].syscall, "listmount");
}

TEST(SeccompPolicy, CoversEveryNumberOnceBetweenInAndNotIn) {
  auto in = parse_seccomp_policy("allow socket when arg0 in 1 2 10 16");
  auto not_in = parse_seccomp_policy("deny EPERM socket when arg0 not-in 1 2 10 16");
  ASSERT_TRUE(in);
  ASSERT_TRUE(not_in);

  for (std::uint64_t n = 0; n < 100; ++n)
    EXPECT_EQ(matches(*in, std::uint32_t(n)) + matches(*not_in, std::uint32_t(n)), 1) << n;
  for (std::uint32_t bit = 1; bit != 0; bit <<= 1)
    for (std::uint32_t n : {0u, 1u, 2u, 10u, 16u, ~0u})
      EXPECT_EQ(matches(*in, n ^ bit) + matches(*not_in, n ^ bit), 1) << (n ^ bit);
}

TEST(SeccompPolicy, TakesNotInOfZeroAndOfAllOnes) {
  auto rules = parse_seccomp_policy("allow personality when arg0 not-in 0 0xFFFFFFFF");

  ASSERT_TRUE(rules);
  EXPECT_EQ(matches(*rules, 0), 0);
  EXPECT_EQ(matches(*rules, ~0u), 0);
  EXPECT_EQ(matches(*rules, 1), 1);
  EXPECT_EQ(matches(*rules, ~0u - 1), 1);
}

TEST(SeccompPolicy, SeesAnySingleBitOfAMask) {
  auto any = parse_seccomp_policy("deny EPERM clone when arg0 has-any 0x7E028000");
  auto none = parse_seccomp_policy("allow clone when arg0 has-none 0x7E028000");
  ASSERT_TRUE(any);
  ASSERT_TRUE(none);

  EXPECT_EQ(any->size(), 8u);
  for (std::uint32_t bit = 1; bit != 0; bit <<= 1) {
    const bool refused = (0x7E028000u & bit) != 0;
    EXPECT_EQ(matches(*any, bit) > 0, refused) << bit;
    EXPECT_EQ(matches(*none, bit) > 0, !refused) << bit;
  }
}

TEST(SeccompPolicy, MultipliesConditionsJoinedByAnd) {
  auto rules = parse_seccomp_policy("allow socket when arg0 in 1 2 and arg2 in 0 6 17");

  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->size(), 6u);
  EXPECT_EQ(rules->back().when.size(), 2u);
}

TEST(SeccompPolicy, UsesNamesForNumbers) {
  auto rules = parse_seccomp_policy("let AF_UNIX = 0x1\nallow socket when arg0 in AF_UNIX");

  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->front().when.front(), (ArgumentMatch{0, 0xFFFFFFFF, 1}));
}

TEST(SeccompPolicy, NamesTheLineOfAMistake) {
  EXPECT_NE(complaint("allow read\nallwo write").find("line 2: want: allow"), std::string::npos);
  EXPECT_NE(complaint("deny EWHAT read").find("errno is not known"), std::string::npos);
  EXPECT_NE(complaint("allow").find("names no system call"), std::string::npos);
  EXPECT_NE(complaint("allow clone when").find("want arg0 to arg5"), std::string::npos);
  EXPECT_NE(complaint("allow clone when arg6 in 1").find("want arg0 to arg5"), std::string::npos);
  EXPECT_NE(complaint("allow clone when arg0 in").find("with nothing"), std::string::npos);
  EXPECT_NE(complaint("allow clone when arg0 in X").find("neither"), std::string::npos);
  EXPECT_NE(complaint("allow clone when arg0 in 0x100000000").find("neither"), std::string::npos);
  EXPECT_NE(complaint("allow clone when arg0 has-any 1 2").find("MASK"), std::string::npos);
  EXPECT_NE(complaint("allow clone when arg0 has-any 0").find("MASK"), std::string::npos);
  EXPECT_NE(complaint("let A = 1\nlet A = 2").find("line 2: a name is defined twice"),
            std::string::npos);
  EXPECT_NE(complaint("allow clone when arg0 in 1 and arg0 in 2").find("once per rule"),
            std::string::npos);
}

TEST(SeccompPolicy, RefusesARuleWithoutConditionBesideAnother) {
  EXPECT_NE(complaint("allow clone\ndeny EPERM clone when arg0 in 1").find("clone has a rule"),
            std::string::npos);
  EXPECT_NE(complaint("allow read\nallow read").find("read has a rule"), std::string::npos);
  EXPECT_EQ(complaint("deny EPERM setns\nzygote allow setns"), "none");
}

TEST(SeccompPolicy, SealsExactlyWhatTheZygoteOpened) {
  auto policy = parse_seccomp_policy(
      "allow read\n"
      "deny EPERM setns ptrace\n"
      "allow clone when arg0 has-none 0x8000\n"
      "deny EPERM clone when arg0 has-any 0x8000\n"
      "zygote allow setns clone fsopen\n");
  ASSERT_TRUE(policy);

  const Rules zygote = rules_of(*policy, RuleScope::zygote);
  const Rules sealing = sealing_rules(*policy);

  EXPECT_EQ(rules_of(*policy, RuleScope::base).size(), 5u);
  EXPECT_EQ(zygote.size(), 5u) << "read, ptrace and the three that were opened";
  ASSERT_EQ(sealing.size(), 3u);
  EXPECT_EQ(sealing[0].syscall, "setns");
  EXPECT_EQ(sealing[1].syscall, "clone");
  EXPECT_EQ(sealing[1].when.size(), 1u);
  EXPECT_EQ(sealing[2].syscall, "fsopen") << "no base rule: falls to the default";
  EXPECT_EQ(sealing[2].action, unmatched_action());
}

TEST(SeccompPolicy, FloorRulesComeOnTopAndOnlyTakeAway) {
  auto policy = parse_seccomp_policy(
      "allow read socket\n"
      "deny EPERM setns\n"
      "zygote allow setns\n"
      "floor deny EPERM socket\n");
  ASSERT_TRUE(policy);

  const Rules floor = floor_rules(*policy);

  EXPECT_EQ(rules_of(*policy, RuleScope::base).size(), 3u);
  EXPECT_EQ(sealing_rules(*policy).size(), 1u);
  ASSERT_EQ(floor.size(), 2u);
  EXPECT_EQ(floor[0].syscall, "setns");
  EXPECT_EQ(floor[1].syscall, "socket");
  EXPECT_NE(complaint("floor allow read"), "none");
}

TEST(SeccompPolicy, ParsesItsOwnText) {
  auto rules = parse_seccomp_policy(seccomp_policy_text());

  ASSERT_TRUE(rules) << rules.error().describe();
  EXPECT_GT(rules->size(), 300u);
}

}  // namespace
}  // namespace vitrine::jail
