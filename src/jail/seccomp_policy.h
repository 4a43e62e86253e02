// SPDX-License-Identifier: Apache-2.0
// The system call policy as data: seccomp.policy, parsed and with every condition spelled out.
//
// Pure: no system call and no libseccomp here. A syntax error names its line; nothing is skipped or
// guessed. Conditions become plain masked comparisons of the low 32 bits of an argument, so that
// what compiles them, and what checks the result, need to know only one kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vitrine::jail {

// (low 32 bits of the argument & mask) == value
struct ArgumentMatch {
  unsigned argument = 0;
  std::uint32_t mask = 0;
  std::uint32_t value = 0;

  bool operator==(const ArgumentMatch&) const = default;
};

struct SyscallAction {
  enum class Kind { allow, fail };
  Kind kind = Kind::fail;
  int error = 0;  // for `fail`; 0 = report success without doing anything

  bool operator==(const SyscallAction&) const = default;
};

enum class RuleScope {
  base,    // every program
  zygote,  // replaces all base rules of the same call until a worker is sealed
  floor,   // comes on top where a worker has no namespaces; see jail/floor.h
};

enum class Spelling {
  must_exist,
  may_be_unknown,  // written `?name`
};

// One system call, and what all of its arguments must be (empty = anything).
struct SyscallRule {
  RuleScope scope = RuleScope::base;
  SyscallAction action;
  std::string syscall;
  Spelling spelling = Spelling::must_exist;
  std::vector<ArgumentMatch> when;
  int line = 0;
};

// What happens to a call that no rule matches.
SyscallAction unmatched_action();

// The text that was compiled into this program.
std::string_view seccomp_policy_text();

// `invalid_argument` naming the line: unknown word, number or errno, a call that has a rule without
// a condition and another one beside it.
Result<std::vector<SyscallRule>> parse_seccomp_policy(std::string_view text);

// The rules of the program named by `scope`: base, or base with the zygote's replacements.
std::vector<SyscallRule> rules_of(const std::vector<SyscallRule>& policy, RuleScope scope);

// What the zygote program leaves open and a sealed worker must be refused: rules that fail, on top
// of "allow everything else".
std::vector<SyscallRule> sealing_rules(const std::vector<SyscallRule>& policy);

// The same, and what a worker without namespaces is refused: the floor's rules take the place of sealing
// ones for the calls they name.
std::vector<SyscallRule> floor_rules(const std::vector<SyscallRule>& policy);

}  // namespace vitrine::jail
