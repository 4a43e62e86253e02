// SPDX-License-Identifier: Apache-2.0
// Landlock: the second wall of a session, by path, behind the mount tree.
//
// session_rules() is pure data: which rights are handled (every one the kernel has: what is handled
// and not granted is refused) and what is granted below which path. A caller may append paths of
// its own. Rights add up from a file to the root, so no rule lies inside a wider one that it means
// to narrow: "/" grants listing only, and programs may be run from the image, /home and /tmp, but
// not from /dev/shm or /proc.
//
// make_ruleset() opens the paths, so it belongs where they are mounted; rules name inodes, and a
// file system mounted later over such a path needs a new ruleset (one mounted further down does
// not). restrict_self() is per thread and for good.
//
// Failure: a rule that cannot be made as written is an error. A kernel without Landlock is ABI 0,
// and session_rules(0) is empty: whether to go on without the wall is the caller's decision.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "jail/sys.h"

namespace vitrine::jail {

enum class Presence { required, optional };

struct LandlockPath {
  std::string path;  // absolute; taken below the root that make_ruleset() is given
  std::uint64_t access = 0;
  Presence presence = Presence::required;
};

struct LandlockRules {
  std::uint64_t handled_fs = 0;
  std::uint64_t handled_net = 0;  // no port is ever granted: handled = refused
  std::uint64_t scoped = 0;
  std::vector<LandlockPath> paths;
};

// What the kernel can do. The scopes are probed one by one, as some kernels claim an ABI without
// having all of it.
struct LandlockSupport {
  int abi = 0;
  std::uint64_t scopes = 0;
};

// TCP for processes that share the host's network namespace must be refused here.
enum class Tcp { unrestricted, refused };

// 0 = the kernel has no Landlock, or it is switched off.
Result<int> landlock_abi(Sys& sys);
Result<LandlockSupport> landlock_support(Sys& sys);

// What `abi` says it has.
LandlockSupport promised_by(int abi);

LandlockRules session_rules(const LandlockSupport& support, Tcp tcp = Tcp::unrestricted);
inline LandlockRules session_rules(int abi) { return session_rules(promised_by(abi)); }

// For sessions that share one root directory: the image, its devices, and of everything that can be
// written only what lies below `home`.
LandlockRules floor_rules(const LandlockSupport& support, const std::string& home);

// `root` is a directory in which the paths are resolved (no link leads out of it), or AT_FDCWD for
// the process's own root. `not_found` for a required path that is missing, `unsupported` if the
// kernel does not know a right or scope.
Result<Fd> make_ruleset(Sys& sys, const LandlockRules& rules, int root);

// Binds the calling thread, which must have no_new_privs or CAP_SYS_ADMIN. Async-signal-safe and
// free of allocations unless it fails. Refusals are not logged: session code could flood the host's
// log.
Status restrict_self(Sys& sys, int ruleset);

// Where no fault is to be injected.
inline Result<int> landlock_abi() {
  Sys sys;
  return landlock_abi(sys);
}
inline Result<LandlockSupport> landlock_support() {
  Sys sys;
  return landlock_support(sys);
}
inline Result<Fd> make_ruleset(const LandlockRules& rules, int root) {
  Sys sys;
  return make_ruleset(sys, rules, root);
}
inline Status restrict_self(int ruleset) {
  Sys sys;
  return restrict_self(sys, ruleset);
}

// Rights and scopes newer than the headers we build with.
inline constexpr std::uint64_t kLandlockFsTruncate = 1ull << 14;    // ABI 3
inline constexpr std::uint64_t kLandlockFsIoctlDev = 1ull << 15;    // ABI 5
inline constexpr std::uint64_t kLandlockNetBindTcp = 1ull << 0;     // ABI 4
inline constexpr std::uint64_t kLandlockNetConnectTcp = 1ull << 1;  // ABI 4
inline constexpr std::uint64_t kLandlockScopeAbstract = 1ull << 0;  // ABI 6
inline constexpr std::uint64_t kLandlockScopeSignal = 1ull << 1;    // ABI 6

}  // namespace vitrine::jail
