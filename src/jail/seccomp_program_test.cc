// SPDX-License-Identifier: Apache-2.0
// Proves, with an interpreter for filter programs, that they say what the policy says.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "jail/seccomp.h"
#include "jail/seccomp_policy.h"

namespace vitrine::jail {
namespace {

constexpr std::uint32_t kNumbers = 600;
constexpr std::uint32_t kAnswerEnosys = SECCOMP_RET_ERRNO | ENOSYS;

// Runs one program on one call, as the kernel does.
std::uint32_t run(const std::vector<sock_filter>& program, const seccomp_data& call) {
  std::uint32_t a = 0;
  for (std::size_t pc = 0; pc < program.size(); ++pc) {
    const sock_filter& op = program[pc];
    bool taken = false;
    switch (op.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (op.k % 4 != 0 || op.k + 4 > sizeof call) return ~0u;
        std::memcpy(&a, reinterpret_cast<const char*>(&call) + op.k, 4);
        continue;
      case BPF_ALU | BPF_AND | BPF_K: a &= op.k; continue;
      case BPF_JMP | BPF_JA: pc += op.k; continue;
      case BPF_JMP | BPF_JEQ | BPF_K: taken = a == op.k; break;
      case BPF_JMP | BPF_JGT | BPF_K: taken = a > op.k; break;
      case BPF_JMP | BPF_JGE | BPF_K: taken = a >= op.k; break;
      case BPF_JMP | BPF_JSET | BPF_K: taken = (a & op.k) != 0; break;
      case BPF_RET | BPF_K: return op.k;
      default: ADD_FAILURE() << "unknown instruction " << op.code; return ~0u;
    }
    pc += taken ? op.jt : op.jf;
  }
  ADD_FAILURE() << "ran off the end";
  return ~0u;
}

// The action of two stacked programs: the stricter one, and of two equals the one loaded last.
std::uint32_t run_both(const std::vector<sock_filter>& first, const std::vector<sock_filter>& last,
                       const seccomp_data& call) {
  const auto rank = [](std::uint32_t action) {
    return static_cast<std::int32_t>(action & SECCOMP_RET_ACTION_FULL);
  };
  const std::uint32_t a = run(first, call);
  const std::uint32_t b = run(last, call);
  return rank(a) < rank(b) ? a : b;
}

std::uint32_t to_action(SyscallAction action) {
  if (action.kind == SyscallAction::Kind::allow) return SECCOMP_RET_ALLOW;
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(action.error);
}

// The policy itself, read rule by rule.
class Oracle {
 public:
  Oracle(const std::vector<SyscallRule>& rules, std::uint32_t arch) {
    for (const SyscallRule& rule : rules)
      rules_[seccomp_syscall_resolve_name_arch(arch, rule.syscall.c_str())].push_back(rule);
  }

  std::uint32_t answer(const seccomp_data& call) const {
    std::set<std::uint32_t> answers;
    if (const auto found = rules_.find(call.nr); found != rules_.end())
      for (const SyscallRule& rule : found->second)
        if (std::all_of(rule.when.begin(), rule.when.end(), [&](const ArgumentMatch& m) {
              return (static_cast<std::uint32_t>(call.args[m.argument]) & m.mask) == m.value;
            }))
          answers.insert(to_action(rule.action));
    EXPECT_LE(answers.size(), 1u) << "rules of call " << call.nr << " contradict each other";
    return answers.empty() ? to_action(unmatched_action()) : *answers.begin();
  }

 private:
  std::map<int, std::vector<SyscallRule>> rules_;
};

std::vector<std::uint64_t> interesting_values() {
  std::vector<std::uint64_t> values{0,          1,          2,          3,      8,      9,
                                    10,         11,         16,         17,     35,     38,
                                    40,         44,         0x5411,     0x5412, 0x5413, 0x541B,
                                    0x541C,     0x541D,     0x5423,     0x5424, 0x5422, 0x7E028000,
                                    0x7E020000, 0x01200011, 0x003D0F00, ~0u,    ~0ull,  0x40000};
  for (unsigned bit = 0; bit < 64; ++bit) values.push_back(1ull << bit);
  const std::size_t low = values.size();
  for (std::size_t i = 0; i < low; ++i) values.push_back(values[i] | 0xDEADBEEF00000000ull);
  return values;
}

// Calls `check` with every number and the interesting values in each looked-at argument.
template <class Check>
void for_each_call(std::uint32_t arch, Check check) {
  const std::vector<std::uint64_t> values = interesting_values();
  for (std::uint32_t nr = 0; nr < kNumbers; ++nr) {
    seccomp_data call{.nr = static_cast<int>(nr), .arch = arch};
    for (std::uint64_t first : values) {
      call.args[0] = first;
      for (std::uint64_t second : {0ull, 1ull, 8ull, 9ull, 0x800000000ull}) {
        call.args[1] = second;
        for (std::uint64_t third : {0ull, 1ull, 0x100000000ull}) {
          call.args[2] = third;
          check(call);
        }
      }
      call.args[0] = 5;
      call.args[1] = first;
      call.args[2] = 0;
      check(call);
    }
  }
}

struct Machine {
  const char* name;
  Processor processor;
  std::uint32_t arch;
};

class SeccompProgram : public ::testing::TestWithParam<Machine> {
 protected:
  void SetUp() override {
    Result<Filters> filters = compile_filters(GetParam().processor);
    ASSERT_TRUE(filters) << filters.error().describe();
    filters_ = std::move(*filters);
    Result<std::vector<SyscallRule>> policy = parse_seccomp_policy(seccomp_policy_text());
    ASSERT_TRUE(policy);
    policy_ = std::move(*policy);
  }

  seccomp_data call(const char* name, std::uint64_t first = 0) const {
    const int nr = seccomp_syscall_resolve_name_arch(GetParam().arch, name);
    return {.nr = nr, .arch = GetParam().arch, .args = {first}};
  }

  Filters filters_;
  std::vector<SyscallRule> policy_;
};

TEST_P(SeccompProgram, SaysWhatThePolicySays) {
  const Oracle base(rules_of(policy_, RuleScope::base), GetParam().arch);
  const Oracle zygote(rules_of(policy_, RuleScope::zygote), GetParam().arch);
  int wrong = 0;

  for_each_call(GetParam().arch, [&](const seccomp_data& c) {
    wrong += run(filters_.base, c) != base.answer(c);
    wrong += run(filters_.zygote, c) != zygote.answer(c);
  });

  EXPECT_EQ(wrong, 0);
}

TEST_P(SeccompProgram, StackedEqualsBase) {
  std::set<int> differing;

  for_each_call(GetParam().arch, [&](const seccomp_data& c) {
    if (run_both(filters_.zygote, filters_.worker, c) != run(filters_.base, c))
      differing.insert(c.nr);
  });

  EXPECT_TRUE(differing.empty()) << "first differing call: " << *differing.begin();
}

TEST_P(SeccompProgram, FloorRefusesMoreThanBaseAndNeverAllowsMore) {
  std::set<std::string> refused;
  int allowed_more = 0;

  for_each_call(GetParam().arch, [&](const seccomp_data& c) {
    const bool base = run(filters_.base, c) == SECCOMP_RET_ALLOW;
    const bool floor = run_both(filters_.zygote, filters_.floor, c) == SECCOMP_RET_ALLOW;
    allowed_more += floor && !base;
    if (floor || !base) return;
    char* name = seccomp_syscall_resolve_num_arch(GetParam().arch, c.nr);
    refused.insert(name == nullptr ? "?" : name);
    std::free(name);
  });

  EXPECT_EQ(allowed_more, 0);
  for (const char* call :
       {"socket", "bind", "connect", "listen", "accept4", "shmget", "semget", "inotify_init1"})
    EXPECT_TRUE(refused.contains(call)) << call;
  EXPECT_FALSE(refused.contains("clone") || refused.contains("openat") || refused.contains("kill"));
}

TEST_P(SeccompProgram, ZygoteAllowsAllThatBaseAllows) {
  int lost = 0;

  for_each_call(GetParam().arch, [&](const seccomp_data& c) {
    lost +=
        run(filters_.base, c) == SECCOMP_RET_ALLOW && run(filters_.zygote, c) != SECCOMP_RET_ALLOW;
  });

  EXPECT_EQ(lost, 0);
}

TEST_P(SeccompProgram, ZygoteOpensOnlyWhatItsRulesName) {
  std::set<std::string> opened;

  for_each_call(GetParam().arch, [&](const seccomp_data& c) {
    if (run(filters_.base, c) == run(filters_.zygote, c)) return;
    char* name = seccomp_syscall_resolve_num_arch(GetParam().arch, c.nr);
    opened.insert(name == nullptr ? "?" : name);
    std::free(name);
  });

  EXPECT_EQ(opened,
            (std::set<std::string>{"setns", "unshare", "clone", "clone3", "mount", "umount2"}));
}

TEST_P(SeccompProgram, ConditionsLeaveNoGap) {
  std::set<int> conditional;
  for (const SyscallRule& rule : policy_)
    if (!rule.when.empty())
      conditional.insert(seccomp_syscall_resolve_name_arch(GetParam().arch, rule.syscall.c_str()));
  std::set<int> gaps;

  for_each_call(GetParam().arch, [&](const seccomp_data& c) {
    if (conditional.contains(c.nr) && run(filters_.base, c) == kAnswerEnosys) gaps.insert(c.nr);
  });

  EXPECT_TRUE(gaps.empty()) << "call " << *gaps.begin();
}

TEST_P(SeccompProgram, RefusesCallsOfTheFuture) {
  for (int nr = 454; nr < 4000; ++nr) {
    const seccomp_data future{.nr = nr, .arch = GetParam().arch};
    EXPECT_EQ(run(filters_.base, future), kAnswerEnosys) << nr;
    EXPECT_EQ(run(filters_.zygote, future), kAnswerEnosys) << nr;
  }
}

TEST_P(SeccompProgram, KillsForeignCallingConventions) {
  const std::vector<std::uint32_t> arches{AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64,
                                          AUDIT_ARCH_AARCH64, 0};
  for (std::uint32_t arch : arches) {
    if (arch == GetParam().arch) continue;
    for (const auto* program : {&filters_.base, &filters_.zygote, &filters_.worker})
      EXPECT_EQ(run(*program, {.nr = 1, .arch = arch}), SECCOMP_RET_KILL_PROCESS) << arch;
  }
  if (GetParam().arch != AUDIT_ARCH_X86_64) return;
  for (int nr : {0x40000000, 0x40000000 + 41, 0x40000000 + 512, 0x7FFFFFFF})
    for (const auto* program : {&filters_.base, &filters_.zygote, &filters_.worker})
      EXPECT_EQ(run(*program, {.nr = nr, .arch = AUDIT_ARCH_X86_64}), SECCOMP_RET_KILL_PROCESS);
}

TEST_P(SeccompProgram, ComparesOnlyTheBitsTheKernelReads) {
  constexpr std::uint64_t kJunk = 0xFFFF0000ull << 32;
  seccomp_data steal = call("ioctl");
  steal.args[1] = kJunk | 0x5412;

  EXPECT_EQ(run(filters_.base, steal), SECCOMP_RET_ERRNO | EPERM);
  EXPECT_EQ(run(filters_.base, call("socket", kJunk | 40)), SECCOMP_RET_ERRNO | EAFNOSUPPORT);
  EXPECT_EQ(run(filters_.base, call("socket", kJunk | 2)), SECCOMP_RET_ALLOW);
  EXPECT_EQ(run(filters_.base, call("prctl", kJunk | 35)), SECCOMP_RET_ERRNO | EPERM);
}

TEST_P(SeccompProgram, IsShort) {
  RecordProperty("base", static_cast<int>(filters_.base.size()));
  RecordProperty("zygote", static_cast<int>(filters_.zygote.size()));
  RecordProperty("worker", static_cast<int>(filters_.worker.size()));

  EXPECT_LT(filters_.base.size(), 2000u);
  EXPECT_LT(filters_.worker.size(), 100u);
}

INSTANTIATE_TEST_SUITE_P(Machines, SeccompProgram,
                         ::testing::Values(Machine{"x86_64", Processor::x86_64, AUDIT_ARCH_X86_64},
                                           Machine{"aarch64", Processor::aarch64,
                                                   AUDIT_ARCH_AARCH64}),
                         [](const auto& machine) { return machine.param.name; });

TEST(SeccompCompile, RefusesANameThatIsNoSystemCall) {
  Result<Filters> filters = compile_filters("allow read raed", Processor::native);

  ASSERT_FALSE(filters);
  EXPECT_NE(filters.error().message.find("line 1: raed"), std::string::npos);
}

TEST(SeccompCompile, SkipsAnOptionalNameThatIsUnknown) {
  EXPECT_TRUE(
      compile_filters("allow read ?raed\ndeny EPERM setns\nzygote allow setns", Processor::native));
}

TEST(SeccompBytes, SurviveTheTrip) {
  Result<Filters> filters = compile_filters();
  ASSERT_TRUE(filters);

  Result<std::vector<sock_filter>> copy = filter_from_bytes(filter_bytes(filters->base));

  ASSERT_TRUE(copy);
  EXPECT_EQ(filter_bytes(*copy), filter_bytes(filters->base));
}

TEST(SeccompBytes, OfAnImpossibleLengthAreRefused) {
  EXPECT_FALSE(filter_from_bytes(""));
  EXPECT_FALSE(filter_from_bytes("1234567"));
  EXPECT_FALSE(filter_from_bytes(std::string(8 * 5000, 'x')));
}

}  // namespace
}  // namespace vitrine::jail
