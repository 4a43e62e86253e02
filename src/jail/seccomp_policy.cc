// SPDX-License-Identifier: Apache-2.0
#include "jail/seccomp_policy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace vitrine::jail {

namespace {

constexpr std::string_view kText =
#include "jail/seccomp.policy"
    ;

constexpr std::uint32_t kAllBits = 0xFFFFFFFF;
constexpr std::array<std::pair<std::string_view, int>, 6> kErrors{{
    {"EPERM", EPERM},
    {"ENOSYS", ENOSYS},
    {"EACCES", EACCES},
    {"EINVAL", EINVAL},
    {"EAFNOSUPPORT", EAFNOSUPPORT},
    {"EOPNOTSUPP", EOPNOTSUPP},
}};

using Words = std::vector<std::string_view>;
// A condition on one argument holds if any of these does.
using Alternatives = std::vector<ArgumentMatch>;

Words split(std::string_view line) {
  Words words;
  line = line.substr(0, line.find('#'));
  while (true) {
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) return words;
    line.remove_prefix(start);
    const std::size_t length = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
}

// All 32-bit numbers that start with the upper bits of `prefix` above `free_bits`, without
// `values`: as few prefixes as that takes. A prefix that holds none of them is one match; otherwise
// halve it.
void add_complement(unsigned argument, std::uint32_t prefix, unsigned free_bits,
                    const std::vector<std::uint32_t>& values, Alternatives& out) {
  const std::uint32_t mask = free_bits == 32 ? 0 : kAllBits << free_bits;
  const bool hit = std::any_of(values.begin(), values.end(),
                               [&](std::uint32_t v) { return (v & mask) == prefix; });
  if (!hit) {
    out.push_back({argument, mask, prefix});
  } else if (free_bits > 0) {
    const std::uint32_t upper_half = prefix | 1u << (free_bits - 1);
    add_complement(argument, upper_half, free_bits - 1, values, out);
    add_complement(argument, prefix, free_bits - 1, values, out);
  }
}

// A word of the line after another; everything that fails says which word it was.
class LineParser {
 public:
  LineParser(const Words& words, int number, std::map<std::string, std::uint32_t>& names)
      : words_(words), number_(number), names_(names) {}

  Status parse(std::vector<SyscallRule>& rules) {
    if (peek() == "let") return define();
    SyscallRule rule{.line = number_};
    if (accept("zygote")) rule.scope = RuleScope::zygote;
    else if (accept("floor")) rule.scope = RuleScope::floor;
    if (Status done = action(rule.action); !done) return done;
    if (rule.scope == RuleScope::floor && rule.action.kind == SyscallAction::Kind::allow)
      return wrong("a floor rule takes away, it allows nothing");
    Words calls;
    while (!peek().empty() && peek() != "when") calls.push_back(take());
    if (calls.empty()) return wrong("a rule names no system call");
    std::vector<std::vector<ArgumentMatch>> cases{{}};
    if (accept("when"))
      if (Status done = conditions(cases); !done) return done;
    for (std::string_view call : calls) {
      const bool optional = call.starts_with('?');
      rule.spelling = optional ? Spelling::may_be_unknown : Spelling::must_exist;
      rule.syscall = call.substr(optional ? 1 : 0);
      for (const auto& when : cases) {
        rule.when = when;
        rules.push_back(rule);
      }
    }
    return ok();
  }

 private:
  std::string_view peek() const { return next_ < words_.size() ? words_[next_] : ""; }
  std::string_view take() { return next_ < words_.size() ? words_[next_++] : ""; }
  bool accept(std::string_view word) { return peek() == word && (++next_, true); }
  Error wrong(std::string_view what) const {
    return Error{Code::invalid_argument,
                 "system call policy, line " + std::to_string(number_) + ": " + std::string(what)};
  }

  std::optional<std::uint32_t> number(std::string_view word) const {
    if (const auto known = names_.find(std::string(word)); known != names_.end())
      return known->second;
    const bool hex = word.starts_with("0x");
    if (hex) word.remove_prefix(2);
    std::uint32_t value = 0;
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), value, hex ? 16 : 10);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
    return value;
  }

  Status define() {
    if (words_.size() != 4 || words_[2] != "=") return wrong("want: let NAME = NUMBER");
    const auto value = number(words_[3]);
    if (!value) return wrong("this is not a 32-bit number");
    if (!names_.emplace(words_[1], *value).second) return wrong("a name is defined twice");
    return ok();
  }

  Status action(SyscallAction& action) {
    const std::string_view verb = take();
    if (verb == "allow") {
      action = {SyscallAction::Kind::allow, 0};
      return ok();
    }
    const std::string_view object = take();
    if (verb == "answer" && object == "0") {
      action = {SyscallAction::Kind::fail, 0};
      return ok();
    }
    if (verb != "deny") return wrong("want: allow, deny ERRNO or answer 0");
    for (const auto& [name, value] : kErrors) {
      if (name != object) continue;
      action = {SyscallAction::Kind::fail, value};
      return ok();
    }
    return wrong("this errno is not known here");
  }

  // Multiplies `cases` by every alternative of every condition.
  Status conditions(std::vector<std::vector<ArgumentMatch>>& cases) {
    do {
      Alternatives alternatives;
      if (Status done = condition(alternatives); !done) return done;
      std::vector<std::vector<ArgumentMatch>> product;
      for (const auto& one : cases) {
        for (const ArgumentMatch& match : alternatives) {
          if (std::any_of(one.begin(), one.end(),
                          [&](const auto& m) { return m.argument == match.argument; }))
            return wrong("an argument may be looked at once per rule");
          product.push_back(one);
          product.back().push_back(match);
        }
      }
      cases = std::move(product);
    } while (accept("and"));
    return peek().empty() ? ok() : Status(wrong("words are left over"));
  }

  Status condition(Alternatives& out) {
    const std::string_view name = take();
    if (name.size() != 4 || !name.starts_with("arg") || name[3] < '0' || name[3] > '5')
      return wrong("want arg0 to arg5");
    const auto argument = static_cast<unsigned>(name[3] - '0');
    const std::string_view relation = take();
    std::vector<std::uint32_t> values;
    while (!peek().empty() && peek() != "and") {
      const auto value = number(take());
      if (!value) return wrong("this is neither a 32-bit number nor a name for one");
      values.push_back(*value);
    }
    if (values.empty()) return wrong("a condition compares with nothing");
    const bool one_mask = values.size() == 1 && values.front() != 0;
    if (relation == "in") {
      for (std::uint32_t value : values) out.push_back({argument, kAllBits, value});
    } else if (relation == "not-in") {
      add_complement(argument, 0, 32, values, out);
    } else if (relation == "has-none" && one_mask) {
      out.push_back({argument, values.front(), 0});
    } else if (relation == "has-any" && one_mask) {
      for (std::uint32_t bit = 1; bit != 0; bit <<= 1)
        if ((values.front() & bit) != 0) out.push_back({argument, bit, bit});
    } else {
      return wrong("want: in, not-in, has-any MASK or has-none MASK");
    }
    return ok();
  }

  const Words& words_;
  int number_;
  std::map<std::string, std::uint32_t>& names_;
  std::size_t next_ = 0;
};

// libseccomp would let one of the two win, whichever; a policy must not depend on that.
Status check_unconditional(const std::vector<SyscallRule>& rules) {
  std::map<std::pair<RuleScope, std::string_view>, int> plain;
  std::map<std::pair<RuleScope, std::string_view>, int> all;
  for (const SyscallRule& rule : rules) {
    ++all[{rule.scope, rule.syscall}];
    if (rule.when.empty()) ++plain[{rule.scope, rule.syscall}];
  }
  for (const SyscallRule& rule : rules) {
    const std::pair<RuleScope, std::string_view> key{rule.scope, rule.syscall};
    if (plain[key] > 0 && all[key] > 1)
      return Error{Code::invalid_argument, "system call policy, line " + std::to_string(rule.line) +
                                               ": " + rule.syscall +
                                               " has a rule without a condition and another one"};
  }
  return ok();
}

std::set<std::string_view> opened_calls(const std::vector<SyscallRule>& policy) {
  std::set<std::string_view> opened;
  for (const SyscallRule& rule : policy)
    if (rule.scope == RuleScope::zygote) opened.insert(rule.syscall);
  return opened;
}

}  // namespace

SyscallAction unmatched_action() { return {SyscallAction::Kind::fail, ENOSYS}; }

std::string_view seccomp_policy_text() { return kText; }

Result<std::vector<SyscallRule>> parse_seccomp_policy(std::string_view text) {
  std::vector<SyscallRule> rules;
  std::map<std::string, std::uint32_t> names;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const Words words = split(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    if (Status done = LineParser(words, number, names).parse(rules); !done)
      return std::move(done.error());
  }
  if (Status done = check_unconditional(rules); !done) return std::move(done.error());
  return rules;
}

std::vector<SyscallRule> rules_of(const std::vector<SyscallRule>& policy, RuleScope scope) {
  const std::set<std::string_view> opened = opened_calls(policy);
  std::vector<SyscallRule> rules;
  for (const SyscallRule& rule : policy) {
    if (rule.scope == RuleScope::floor) continue;
    if (rule.scope == RuleScope::zygote
            ? scope == RuleScope::zygote
            : scope == RuleScope::base || !opened.contains(rule.syscall))
      rules.push_back(rule);
  }
  return rules;
}

std::vector<SyscallRule> sealing_rules(const std::vector<SyscallRule>& policy) {
  std::vector<SyscallRule> rules;
  std::set<std::string_view> without_base = opened_calls(policy);
  for (const SyscallRule& rule : policy) {
    if (rule.scope != RuleScope::base || !opened_calls(policy).contains(rule.syscall)) continue;
    without_base.erase(rule.syscall);
    if (rule.action.kind == SyscallAction::Kind::fail) rules.push_back(rule);
  }
  for (std::string_view call : without_base)
    rules.push_back({.action = unmatched_action(), .syscall = std::string(call)});
  return rules;
}

std::vector<SyscallRule> floor_rules(const std::vector<SyscallRule>& policy) {
  std::set<std::string_view> named;
  for (const SyscallRule& rule : policy)
    if (rule.scope == RuleScope::floor) named.insert(rule.syscall);
  std::vector<SyscallRule> rules = sealing_rules(policy);
  std::erase_if(rules, [&](const SyscallRule& rule) { return named.contains(rule.syscall); });
  for (const SyscallRule& rule : policy)
    if (rule.scope == RuleScope::floor) rules.push_back(rule);
  return rules;
}

}  // namespace vitrine::jail
