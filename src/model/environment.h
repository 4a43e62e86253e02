// SPDX-License-Identifier: Apache-2.0
// The operator's named environments: packages beside the image's that sessions may choose, each with
// interpreters of its own that have them imported before the fork.
#pragma once

#include <algorithm>
#include <compare>
#include <string>
#include <string_view>

#include "model/session.h"

namespace vitrine {

// What the image alone is called; no environment may have it.
inline constexpr std::string_view kPlainEnvironment = "default";

// A name of a directory, and of nothing above it.
inline bool is_environment_name(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= 64 && plain(name.front()) && name != kPlainEnvironment &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return plain(c) || c == '-' || c == '_'; });
}

// Which zygote: a variant of the image, or of one of the environments; for a policy that brings an
// interpreter of its own, with that imported.
struct ZygoteKey {
  ZygoteKey(Variant of, std::string in = {}, Policy under = Policy::native)  // NOLINT
      : variant(of),
        environment(std::move(in)),
        policy(under == Policy::smolagents ? under : Policy::native) {}
  Variant variant;
  std::string environment;  // "" = the image alone
  Policy policy;            // native: also restricted, whose modules are small and in every zygote
  auto operator<=>(const ZygoteKey&) const = default;
};

}  // namespace vitrine
