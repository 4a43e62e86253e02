// SPDX-License-Identifier: Apache-2.0
#include "model/host_ids.h"

#include <fcntl.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "base/fd.h"

namespace vitrine {

namespace {

constexpr std::uint64_t kOuterIds = 65536;
constexpr std::uint64_t kFirstFree = 20'000;  // below are people and services of the container
constexpr std::uint64_t kNobody = 65'534;
constexpr std::uint64_t kLeastSlots = 64;
constexpr std::uint64_t kOwn = 4;  // the front's, the recorders', the gateway's, the outer root's
constexpr std::uint64_t kPerSlot = 3;
constexpr std::uint64_t kLeastIds = kOwn + kPerSlot * kLeastSlots;

IdRange common(const IdRange& a, const IdRange& b) {
  const std::uint64_t first = std::max(a.first, b.first);
  const std::uint64_t end = std::min(a.first + a.count, b.first + b.count);
  return {first, end > first ? end - first : 0};
}

// A mapping of a namespace inside must lie in one line of ours: the kernel joins none.
std::vector<IdRange> common(const std::vector<IdRange>& users, const std::vector<IdRange>& groups) {
  std::vector<IdRange> both;
  for (const IdRange& user : users)
    for (const IdRange& group : groups)
      if (const IdRange range = common(user, group); range.count > 0) both.push_back(range);
  return both;
}

HostIds from_base(std::uint64_t base) {
  const auto front = static_cast<std::uint32_t>(base + kOuterIds);
  return {.outer = {base, kOuterIds},
          .front = front,
          .recorder = front + 1,
          .gateway = front + 2,
          .first_proxy = front + 3};
}

HostIds within(const IdRange& range) {
  const std::uint64_t slots = std::min((range.count - kOwn) / kPerSlot, (kOuterIds - 1) / 2);
  const auto first = static_cast<std::uint32_t>(range.first);
  HostIds ids{.outer = {range.first + 3, 2 * slots + 1},
              .front = first,
              .recorder = first + 1,
              .gateway = first + 2};
  ids.first_proxy = static_cast<std::uint32_t>(ids.outer.first + ids.outer.count);
  return ids;
}

}  // namespace

std::vector<IdRange> parse_id_map(std::string_view text) {
  std::vector<IdRange> ranges;
  std::istringstream lines{std::string(text)};
  for (std::uint64_t inside = 0, outside = 0, count = 0; lines >> inside >> outside >> count;)
    ranges.push_back({inside, count});
  return ranges;
}

Result<HostIds> plan_host_ids(const std::vector<IdRange>& users, const std::vector<IdRange>& groups,
                              std::uint32_t base) {
  const std::vector<IdRange> mapped = common(users, groups);
  const IdRange wanted{base, 2 * kOuterIds};
  IdRange best;
  std::uint64_t all = 0;
  for (const IdRange& range : mapped) {
    if (common(range, wanted).count == wanted.count) return from_base(base);
    all += range.count;
    // Not across nobody's id, which files of unmapped owners seem to have.
    for (const IdRange part : {common(range, {kFirstFree, kNobody - kFirstFree}),
                               common(range, {kNobody + 1, 0xFFFF'0000})})
      if (part.count > best.count) best = part;
  }
  if (best.count >= kLeastIds) return within(best);
  return Error{.code = Code::unsupported,
               .message = "this user namespace has " + std::to_string(all) +
                          " ids, and none from " + std::to_string(base) + " on; sessions need " +
                          std::to_string(kLeastIds) + " in a row above " +
                          std::to_string(kFirstFree - 1) + ", of users and of groups",
               .remedy =
                   "map 65536 ids into it (/etc/subuid and /etc/subgid, newuidmap and newgidmap), "
                   "or start it as an ordinary user"};
}

Result<HostIds> read_host_ids(std::uint32_t base) {
  Result<std::string> users = read_file(AT_FDCWD, "/proc/self/uid_map");
  if (!users && users.error().code == Code::not_found)
    return Error{.code = Code::unsupported,
                 .message = "there is no /proc",
                 .remedy = "mount it: mount -t proc proc /proc"};
  if (!users) return std::move(users.error());
  Result<std::string> groups = read_file(AT_FDCWD, "/proc/self/gid_map");
  if (!groups) return std::move(groups.error());
  return plan_host_ids(parse_id_map(*users), parse_id_map(*groups), base);
}

}  // namespace vitrine
