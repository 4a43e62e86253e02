// SPDX-License-Identifier: Apache-2.0
// keeper <-> zygote: "fork a worker into this shell". Fixed-size, so that the zygote's loop touches
// no heap: each page it writes is a page its next child has to copy.
#pragma once

#include <cstdint>

namespace vitrine::wire {

// keeper -> zygote. Descriptors beside it: pidfd of the shell's init (its home, if there is a `user`),
// session socket, stdout, stderr, then, as far as there are such: the Landlock ruleset, the v2 cgroup, the join descriptors of v1 cgroups.
struct ForkRequest {
  std::uint64_t request = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t inodes = 0;
  std::uint64_t processes = 0;
  std::uint64_t data_bytes = 0;
  std::uint64_t scratch = 0;  // the filesystem that the ruleset was made for; 0 = not known
  std::uint32_t uses = 0;     // workers that the shell has had before
  std::uint32_t user = 0;     // a shell without namespaces: whom the worker becomes; 0 = with
  std::uint32_t fail_at = 0;
  std::uint8_t recycled = 0;
  std::uint8_t rehearse = 0;
  std::uint8_t has_ruleset = 0;
  std::uint8_t has_cgroup = 0;
};
static_assert(sizeof(ForkRequest) == 64);

// zygote -> keeper. `request` 0 = the zygote is warm. The worker's pid travels as SCM_CREDENTIALS, so
// that the kernel translates it: the zygote lives in another pid namespace than the keeper. Where it lives
// in the same one, it may name nobody but itself in that way, and the number needs no translation.
struct ForkReply {
  std::uint64_t request = 0;
  std::int32_t error = 0;  // errno, 0 = forked
  std::int32_t pid = 0;    // of a worker without namespaces
};
static_assert(sizeof(ForkReply) == 16);

inline constexpr int kForkDescriptors = 4;      // at least
inline constexpr int kMaxForkDescriptors = 14;  // at most

}  // namespace vitrine::wire
