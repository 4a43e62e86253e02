// SPDX-License-Identifier: Apache-2.0
// engine_bench <-> the raw fork server. Fixed-size packets, as between keeper and zygote.
#pragma once

#include <cstdint>

namespace vitrine::bench {

inline constexpr std::uint32_t kMaxRawChildren = 64;

struct RawRequest {
  std::uint32_t id = 0;  // below kMaxRawChildren, and free
  char code[252] = {};   // leaves its value in `_`
};

struct RawReply {
  enum class Kind : std::uint32_t { warm, result, reaped };
  std::uint32_t id = 0;
  Kind kind = Kind::warm;
  std::uint32_t size = 0;
  char text[52] = {};
};

}  // namespace vitrine::bench
