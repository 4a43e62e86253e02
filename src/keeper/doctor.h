// SPDX-License-Identifier: Apache-2.0
// What isolation this host gives us, tried and not guessed, with the command that mends what is
// missing. Changes nothing: what is tried is tried in children that end.
#pragma once

#include <string>

#include "keeper/options.h"

namespace vitrine::keeper {

struct Diagnosis {
  bool full = false;  // a whole jail is possible
  std::string json;  // {"full", "checks": [{"name", "state": ok|missing|note, "detail", "remedy"}]}
};

Diagnosis diagnose(const Options& options);

}  // namespace vitrine::keeper
