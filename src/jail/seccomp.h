// SPDX-License-Identifier: Apache-2.0
// The system call filters of a session, compiled from seccomp.policy (read that file first).
//
// compile_filters() is slow (tens of ms), allocates, and belongs into the keeper's start. The
// programs are plain data: as bytes they travel in a memfd, and install_filter() loads them without
// libseccomp, without allocating, in a process that may just have been forked.
//
//   base            processes that do not come from a zygote (X server, installer)
//   zygote, worker  the same wall in two parts: the big one is loaded once and inherited by every
//                   fork, the small one takes back what the zygote needed; both = base
//   floor           in the place of worker where a session has no namespaces: refuses more
//
// Failure: a policy that cannot be compiled exactly as written is an error, never a weaker filter.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jail/sys.h"

namespace vitrine::jail {

struct Filters {
  std::vector<sock_filter> base;
  std::vector<sock_filter> zygote;
  std::vector<sock_filter> worker;
  std::vector<sock_filter> floor;
};

enum class Processor { native, x86_64, aarch64 };

// Of the policy in this program, or of another text.
Result<Filters> compile_filters(Processor processor = Processor::native);
Result<Filters> compile_filters(std::string_view policy, Processor processor);

// Loads a program into the calling thread, which must have no_new_privs or CAP_SYS_ADMIN.
// Async-signal-safe and free of allocations unless it fails.
Status install_filter(Sys& sys, std::span<const sock_filter> program);
inline Status install_filter(std::span<const sock_filter> program) {
  Sys sys;
  return install_filter(sys, program);
}

// The program's bytes, valid as long as the program. They mean the same only on this machine.
std::string_view filter_bytes(std::span<const sock_filter> program);
// `invalid_argument` if the length fits no program. The bytes must come from filter_bytes().
Result<std::vector<sock_filter>> filter_from_bytes(std::string_view bytes);

}  // namespace vitrine::jail
