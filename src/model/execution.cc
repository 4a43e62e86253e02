// SPDX-License-Identifier: Apache-2.0
#include "model/execution.h"

#include <array>

namespace vitrine {

namespace {

constexpr std::array<std::string_view, 7> kOutcomes{"ok",      "exception", "policy", "interrupted",
                                                    "timeout", "oom",       "crashed"};

}  // namespace

std::string_view to_string(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

std::optional<Outcome> outcome_from(std::string_view name) {
  for (std::size_t i = 0; i < kOutcomes.size(); ++i)
    if (kOutcomes[i] == name) return static_cast<Outcome>(i);
  return std::nullopt;
}

std::string_view rule_of(const ExecRecord& record) {
  static constexpr std::array<std::string_view, 9> kRules{"attribute", "builtin",    "expression",
                                                          "import",    "module",     "name",
                                                          "shell",     "smolagents", "write"};
  if (record.outcome != Outcome::policy) return "";
  if (record.error)
    for (std::string_view rule : kRules)
      if (record.error->value.starts_with(std::string(rule) + ":")) return rule;
  return "other";
}

Verdict verdict_of(const Death& death) {
  switch (death.cause) {
    case Cause::exited: return {Outcome::crashed, death.code & 0xFF};
    case Cause::signalled: return {Outcome::crashed, 128 + death.code};
    case Cause::oom: return {Outcome::oom, 137};
    case Cause::timeout: return {Outcome::timeout, 124};
    case Cause::killed: return {Outcome::crashed, 137};
  }
  return {};
}

}  // namespace vitrine
