// SPDX-License-Identifier: Apache-2.0
// The rules of OpenEnv's coding environment: one table, from which come the JSON that a Python can judge
// by (docs/rewards.md) and the reward that needs none.
//
// Pure. Trust: the code is hostile, and so is the worker's word about what came of it. A worker that
// lies can claim no more than that code which does not parse did run (docs/decisions/0032).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/execution.h"
#include "model/session.h"

namespace vitrine::api::openenv {

// What is judged: what the client sent, and what it is going to see.
struct Judged {
  std::string_view code;
  Policy policy = Policy::native;
  Outcome outcome = Outcome::ok;
  int exit_code = 0;
  std::string_view error = {};  // the name of the exception, if there was one
  std::string_view out = {};
  std::string_view err = {};
};

inline constexpr std::size_t kMaxJudgedCode = 1u << 20;  // of longer code only the beginning counts

// The table as JSON.
std::string openenv_rules();

// The reward by the table, to the bit what the JSON gives in Python. None where only a Python can tell
// whether the code parses.
std::optional<double> openenv_reward(const Judged& judged);

// Whether the code is valid Python, where that follows from what came of it: code that ran was parsed,
// unless the session may have turned it into Python first (`!ls`, `%time`, an indent shared by all lines).
std::optional<bool> parses(const Judged& judged);

}  // namespace vitrine::api::openenv
