// SPDX-License-Identifier: Apache-2.0
// Which user and group ids a server that starts as root gives away: to its front, its recorders, its
// index gateway, its sessions and their proxies.
//
// On a host that is the whole range from the base on. Root of a user namespace has only the ids that are
// mapped into it (/proc/self/uid_map, gid_map), so a range is taken from those, above the ones that people
// and services of the container have. `vitrine serve` and the keeper come to the same answer. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vitrine {

struct IdRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

struct HostIds {
  IdRange outer;  // the outer namespace of sessions: its root, and two of each session
  std::uint32_t front = 0;
  std::uint32_t recorder = 0;
  std::uint32_t gateway = 0;
  std::uint32_t first_proxy = 0;  // of as many as there may be sessions
};

// How many sessions can have ids of their own: each takes one for its code and one for its display.
constexpr std::uint32_t slots_of(const IdRange& outer) {
  return outer.count == 0 ? 0 : static_cast<std::uint32_t>((outer.count - 1) / 2);
}

// The ranges of ids inside, as /proc/self/uid_map lists them.
std::vector<IdRange> parse_id_map(std::string_view text);

// `unsupported` if neither the range from `base` on nor enough ids elsewhere are mapped, for users and for
// groups; the message says how many there are.
Result<HostIds> plan_host_ids(const std::vector<IdRange>& users, const std::vector<IdRange>& groups,
                              std::uint32_t base);

// The same for this process.
Result<HostIds> read_host_ids(std::uint32_t base);

}  // namespace vitrine
