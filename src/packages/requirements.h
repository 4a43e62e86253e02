// SPDX-License-Identifier: Apache-2.0
// A requirement as a client may write it: a name, extras, versions. "polars==1.*", "httpx[http2]>=0.27".
//
// The part of PEP 508 that names a package of the index and nothing else: no URL, path, option, marker
// or second line passes, and no letter but ASCII, so that nothing here can become an argument of the
// installer. Pure. Trust: the text is hostile; parse_requirement() is fuzzed.
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

// `invalid_argument` with what is wrong and a remedy.
Result<Requirement> parse_requirement(std::string_view text);

std::string normalised(std::string_view name);

// The text as it may be shown in an error: short, printable ASCII.
std::string quoted(std::string_view text);

}  // namespace vitrine::packages
