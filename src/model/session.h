// SPDX-License-Identifier: Apache-2.0
// The closed sets that describe a session.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vitrine {

// Which zygote a session is forked from.
enum class Variant : std::uint8_t {
  bare = 0,    // the interpreter and the runtime
  loaded = 1,  // numpy, pandas and matplotlib.pyplot imported
  seeded = 2,  // as loaded, with a fixed hash seed
};
inline constexpr std::uint8_t kVariants = 3;

enum class Lifetime : std::uint8_t {
  session = 0,
  one_shot = 1,  // one execution, or one episode: its shell may be recycled for the next
  service = 2,   // the server's own, such as an installation: in no list, outside the capacity
};

enum class Files : std::uint8_t { wipe = 0, keep = 1 };
enum class FileKind : std::uint8_t { file = 0, directory = 1, link = 2, other = 3 };

// How a worker was had: ready and waiting, forked into a waiting shell, or everything built anew.
enum class Source : std::uint8_t { warm = 0, forked = 1, built = 2 };

// Why a session's worker is gone, as the kernel and the keeper know it.
enum class Cause : std::uint8_t {
  exited = 0,     // code = exit status
  signalled = 1,  // code = signal
  oom = 2,
  timeout = 3,
  killed = 4,  // by request
};
struct Death {
  Cause cause = Cause::exited;
  std::int32_t code = 0;
};

// What the language of a session may do: a guard against accidents. The jail is the wall.
enum class Policy : std::uint8_t {
  native = 0,      // real Python
  restricted = 1,  // real Python behind RestrictedPython's guards
  smolagents = 2,  // the interpreter of that package
};
inline constexpr std::uint8_t kPolicies = 3;

std::string_view to_string(Variant variant);
std::string_view to_string(Cause cause);
std::string_view to_string(Policy policy);
// By its name, or as older programs call it ("restrictedpython").
std::optional<Policy> policy_from(std::string_view name);

}  // namespace vitrine
