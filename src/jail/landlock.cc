// SPDX-License-Identifier: Apache-2.0
#include "jail/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <cerrno>
#include <utility>

namespace vitrine::jail {

namespace {

// The kernel's struct as of ABI 6. Older kernels accept it while the fields they lack are zero.
struct RulesetAttributes {
  std::uint64_t handled_fs = 0;
  std::uint64_t handled_net = 0;
  std::uint64_t scoped = 0;
};

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kExecute = LANDLOCK_ACCESS_FS_EXECUTE;
constexpr std::uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE | kLandlockFsTruncate;
constexpr std::uint64_t kDevice = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr std::uint64_t kMakeDevices = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;

// ABI 1 has the first thirteen rights, up to MAKE_SYM.
constexpr std::uint64_t kFirstRights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

// Log nothing: neither for this program nor for domains below (ABI 7).
constexpr unsigned kQuiet = 1u << 0 | 1u << 2;

std::uint64_t fs_rights(int abi) {
  if (abi < 1) return 0;
  std::uint64_t rights = kFirstRights;
  if (abi >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) rights |= kLandlockFsTruncate;
  if (abi >= 5) rights |= kLandlockFsIoctlDev;
  return rights;
}

int create_ruleset(const RulesetAttributes* attributes, std::size_t size, unsigned flags) {
  return static_cast<int>(::syscall(SYS_landlock_create_ruleset, attributes, size, flags));
}

// Only a kernel that does not know it may do without: any other failure would weaken the wall.
Result<bool> has_scope(Sys& sys, std::uint64_t scope) {
  const RulesetAttributes attributes{.scoped = scope};
  if (Fd(sys(create_ruleset, &attributes, sizeof attributes, 0u))) return true;
  if (errno == EINVAL || errno == E2BIG) return false;
  return Error::from_errno("asking for a Landlock scope");
}

int openat2(int root, const char* path, open_how* how) {
  return static_cast<int>(::syscall(SYS_openat2, root, path, how, sizeof *how));
}

int add_rule(int ruleset, const landlock_path_beneath_attr* rule) {
  return static_cast<int>(
      ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, rule, 0));
}

Result<Fd> open_path(Sys& sys, int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = root == AT_FDCWD ? RESOLVE_NO_MAGICLINKS : RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  Fd file(sys(openat2, root, path.c_str(), &how));
  if (file) return file;
  Error error = Error::from_errno("opening a path for its Landlock rule");
  error.detail = path;
  return error;
}

Status add_path(Sys& sys, int ruleset, const LandlockPath& path, std::uint64_t access, int root) {
  Result<Fd> file = open_path(sys, root, path.path);
  if (!file) {
    const bool missing = file.error().code == Code::not_found;
    if (missing && path.presence == Presence::optional) return ok();
    return std::move(file.error());
  }
  const landlock_path_beneath_attr rule{.allowed_access = access, .parent_fd = file->get()};
  if (sys(add_rule, ruleset, &rule) == 0) return ok();
  Error error = Error::from_errno("adding a Landlock rule");
  error.detail = path.path;
  return error;
}

}  // namespace

Result<int> landlock_abi(Sys& sys) {
  const int abi = sys(create_ruleset, nullptr, std::size_t{0}, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi >= 0) return abi;
  // EPERM: a filter around us, such as a container's, hides it.
  if (errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM) return 0;
  return Error::from_errno("asking for the Landlock version");
}

Result<LandlockSupport> landlock_support(Sys& sys) {
  Result<int> abi = landlock_abi(sys);
  if (!abi) return std::move(abi.error());
  LandlockSupport support{.abi = *abi};
  const std::uint64_t promised = promised_by(*abi).scopes;
  for (std::uint64_t scope : {kLandlockScopeAbstract, kLandlockScopeSignal}) {
    if ((promised & scope) == 0) continue;
    Result<bool> has = has_scope(sys, scope);
    if (!has) return std::move(has.error());
    if (*has) support.scopes |= scope;
  }
  return support;
}

LandlockSupport promised_by(int abi) {
  return {abi, abi >= 6 ? kLandlockScopeAbstract | kLandlockScopeSignal : 0};
}

LandlockRules session_rules(const LandlockSupport& support, Tcp tcp) {
  if (support.abi < 1) return {};
  const std::uint64_t all = fs_rights(support.abi);
  const std::uint64_t owned = all & ~kMakeDevices;
  LandlockRules rules{.handled_fs = all, .scoped = support.scopes};
  if (support.abi >= 4 && tcp == Tcp::refused)
    rules.handled_net = kLandlockNetBindTcp | kLandlockNetConnectTcp;

  const auto grant = [&](const char* path, std::uint64_t access, Presence presence) {
    rules.paths.push_back({path, access & all, presence});
  };
  grant("/", LANDLOCK_ACCESS_FS_READ_DIR, Presence::required);
  // The image. All but /usr are links into it, or absent, in a merged-usr tree.
  grant("/usr", kRead | kExecute, Presence::required);
  for (const char* path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"})
    grant(path, kRead | kExecute, Presence::optional);
  for (const char* path : {"/etc", "/var"}) grant(path, kRead, Presence::optional);
  // Nothing there needs to be written, and oom_score_adj must not be lowered again.
  grant("/proc", kRead, Presence::optional);
  // The rule is on /home, so that what is mounted on /home/sandbox later is covered too.
  grant("/home", owned, Presence::required);
  grant("/tmp", owned, Presence::required);
  grant("/dev/shm", owned & ~kExecute, Presence::optional);
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
    grant(path, kDevice, Presence::optional);
  grant("/dev/pts", kRead | kDevice | kLandlockFsIoctlDev, Presence::optional);
  return rules;
}

LandlockRules floor_rules(const LandlockSupport& support, const std::string& home) {
  LandlockRules rules = session_rules(support, Tcp::refused);
  if (support.abi < 1) return rules;
  std::erase_if(rules.paths, [](const LandlockPath& one) {
    return one.path == "/proc" || one.path == "/home" || one.path == "/tmp" ||
           one.path == "/dev/shm" || one.path == "/dev/pts";
  });
  rules.paths.push_back({home, fs_rights(support.abi) & ~kMakeDevices, Presence::required});
  return rules;
}

Result<Fd> make_ruleset(Sys& sys, const LandlockRules& rules, int root) {
  const RulesetAttributes attributes{rules.handled_fs, rules.handled_net, rules.scoped};
  Fd ruleset(sys(create_ruleset, &attributes, sizeof attributes, 0u));
  if (!ruleset) {
    const int reason = errno;
    Error error = Error::from_errno("making a Landlock ruleset", reason);
    if (reason == EINVAL || reason == E2BIG) error.code = Code::unsupported;
    return error;
  }
  for (const LandlockPath& path : rules.paths) {
    const std::uint64_t access = path.access & rules.handled_fs;
    if (access == 0) continue;  // not handled, so not refused either
    if (Status done = add_path(sys, ruleset.get(), path, access, root); !done)
      return std::move(done.error());
  }
  return ruleset;
}

Status restrict_self(Sys& sys, int ruleset) {
  const auto restrict = [](int fd, unsigned flags) {
    return static_cast<int>(::syscall(SYS_landlock_restrict_self, fd, flags));
  };
  if (sys(restrict, ruleset, kQuiet) == 0) return ok();
  // Before ABI 7 there are no flags, and no log.
  if (errno == EINVAL && sys(restrict, ruleset, 0u) == 0) return ok();
  return Error::from_errno("entering the Landlock domain");
}

}  // namespace vitrine::jail
