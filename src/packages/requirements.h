// SPDX-License-Identifier: Apache-2.0
// A requirement as a client may write it: a name, extras, versions. "polars==1.*", "httpx[http2]>=0.27".
//
// The subset of PEP 508 that names a package of the index. URLs, paths, options, markers, line breaks and
// non-ASCII letters are refused, so that no requirement can become an option of the installer. Pure.
//
// Trust: the text is hostile; parse_requirement() is fuzzed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vitrine::packages {

inline constexpr std::size_t kMaxRequirements = 100;
inline constexpr std::size_t kMaxRequirement = 200;  // bytes of one

struct Requirement {
  std::string name;                   // normalised: lower case, one '-' for any run of . _ -
  std::vector<std::string> extras;    // normalised, sorted, once each
  std::vector<std::string> versions;  // "==1.*", in the order given
  std::string text() const;
  bool operator==(const Requirement&) const = default;
};

// `invalid_argument` with the mistake and a remedy.
Result<Requirement> parse_requirement(std::string_view text);

std::string normalised(std::string_view name);

// The text in a form that is safe in an error message: short, printable ASCII.
std::string quoted(std::string_view text);

}  // namespace vitrine::packages
