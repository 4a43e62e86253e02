// SPDX-License-Identifier: Apache-2.0
// Who asks, and how much they may have. An identity is the name of a token; whoever needs none is
// nobody in particular: the one identity without a name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vitrine {

// The name of whoever has the server's own token; no other token may have it.
inline constexpr std::string_view kOwnerName = "owner";

// What is not set is not limited.
struct Quota {
  std::optional<std::uint32_t> sessions;               // at once
  std::optional<std::uint32_t> executions_per_minute;  // and creations
  std::optional<std::uint64_t> memory_bytes;           // of all sessions' limits together
  std::optional<std::uint32_t> installations;          // of packages, at once
  std::optional<std::uint32_t> installations_per_hour;
};

struct Identity {
  std::string name;       // "" = came without a token, where none is needed
  bool sees_all = false;  // the owner: finds and lists what others made
  Quota quota;

  bool is_named() const { return !name.empty() && !sees_all; }
};

// A token as it is kept: nobody can read it out of us.
struct Token {
  Identity identity;
  std::string sha256;  // 64 hex digits, lower case
};

}  // namespace vitrine
