// SPDX-License-Identifier: Apache-2.0
#include "keeper/host.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iterator>
#include <string>
#include <utility>

#include "jail/landlock.h"
#include "jail/worker.h"
#include "keeper/doctor.h"
#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

std::string join(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& one : words) list += (list.empty() ? "" : ", ") + one;
  return list;
}

// Root of a user namespace has only those that are mapped into it, and they may be too few.
Result<HostIds> choose_ids(Level level, const Options& options) {
  Result<HostIds> ids = read_host_ids(options.uid_base);
  if (!ids) return ids;
  // The mounts that the builder is given are cloned, which only the owner of a mount namespace may. Without
  // one of our own the builder opens them by their names, and says what it cannot reach.
  if (ids->outer.first != options.uid_base) (void)::unshare(CLONE_NEWNS);
  const PoolConfig& pool = options.pool;
  std::uint64_t wanted = std::uint64_t{options.capacity} + pool.shells + pool.recycled;
  for (std::uint32_t workers : pool.workers) wanted += workers;
  if (level == Level::full && slots_of(ids->outer) < wanted)
    log_warning("user ids: enough for " + std::to_string(slots_of(ids->outer)) +
                " sessions; the capacity and the pools together are " + std::to_string(wanted));
  return ids;
}

// The level of isolation says nothing of limits: these have one of their own.
void warn_of_limits(const Host& host) {
  const std::string list = join(best_effort_limits(host.level, host.cgroups));
  if (list.empty()) return;
  const jail::CgroupOffer& missing = host.cgroups.memory ? host.cgroups.cpu : host.cgroups.memory;
  log_warning("limits: best effort: " + list + " (" +
              (host.level == Level::container ? "no cgroups at this level" : missing.refusal) +
              ")");
}

std::string enforced_by(const jail::CgroupOffer& offer, const char* otherwise) {
  return offer ? "cgroup" : otherwise;
}

}  // namespace

Status prepare_process() {
  ::signal(SIGPIPE, SIG_IGN);
  ::umask(077);
  // Its memory holds what no session may see; and no group of ours may reach a zygote.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (::geteuid() == 0 && ::setgroups(0, nullptr) != 0)
    return Error::from_errno("dropping groups")
        .with_remedy("start it as an ordinary user: this root is one of a user namespace only");
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max < jail::kMaxDescriptors)
    return Error{.code = Code::unsupported,
                 .message = "at most " + std::to_string(files.rlim_max) +
                            " descriptors may be open, and a session may use " +
                            std::to_string(jail::kMaxDescriptors),
                 .remedy = "raise the hard limit, for example with ulimit -Hn"};
  return ok();
}

Status choose_level(Host& host, const Options& options) {
  if (options.floor != Level::full) {
    const std::vector<std::string> missing = missing_for_full_jail();
    if (missing.empty()) {
      log_info("isolation: full; --isolation-floor container is not needed here");
    } else {
      host.level = Level::container;
      log_warning("isolation: container, weaker than full: this host lacks " + join(missing));
      for (const char* lost : kLostOnTheFloor)
        log_warning(std::string("isolation: container: ") + lost);
      log_warning(
          "isolation: for the full jail, give the container --privileged --cgroupns=private; "
          "`vitrine doctor` reports what is missing, SECURITY.md what that means");
    }
  }
  if (::geteuid() != 0) return ok();
  Result<HostIds> ids = choose_ids(host.level, options);
  if (!ids) return std::move(ids.error());
  host.ids = *ids;
  return ok();
}

Status detect_host(Host& host, const Options& options) {
  Result<int> abi = jail::landlock_abi();
  if (!abi) return std::move(abi.error());
  host.landlock = *abi;
  if (host.level == Level::container) {
    if (host.landlock == 0)
      log_warning(
          "isolation: container: there is no Landlock either: user ids, chroot and seccomp must "
          "do");
    warn_of_limits(host);
    return ok();
  }
  host.cgroups = jail::detect_cgroups();
  warn_of_limits(host);
  const jail::CgroupHost& offers = host.cgroups;
  if (!offers.memory && !offers.pids && !offers.cpu && !offers.kill) return ok();
  Result<jail::CgroupTree> tree = jail::CgroupTree::create(offers, options.name);
  if (!tree) return std::move(tree.error()).during("cgroups");
  host.tree.emplace(std::move(*tree));
  return ok();
}

IsolationInfo isolation_info(const Host& host, const Options& options) {
  IsolationInfo info{.level = host.level,
                     .floor = options.floor,
                     .lost = {},
                     .privileged = ::geteuid() == 0,
                     .cgroups = std::string(jail::kind_of(host.cgroups)),
                     .limits = limits_level(host.level, host.cgroups),
                     .best_effort = best_effort_limits(host.level, host.cgroups),
                     .memory = enforced_by(host.cgroups.memory, "rlimit, per process, best effort"),
                     .processes = enforced_by(host.cgroups.pids, "rlimit"),
                     .cpu = enforced_by(host.cgroups.cpu, "none, best effort"),
                     .landlock_abi = static_cast<std::uint32_t>(host.landlock)};
  if (host.level == Level::container)
    info.lost.assign(std::begin(kLostOnTheFloor), std::end(kLostOnTheFloor));
  return info;
}

Status prepare_layers(const Options& options, std::optional<uid_t> user) {
  if (options.data.empty()) return ok();
  const std::string path = options.data + "/layers";
  ::mkdir(options.data.c_str(), 0700);
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return Error::from_errno("making the directory of package layers");
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory || ::fchmod(directory.get(), 0755) != 0 ||
      (user && ::fchown(directory.get(), *user, *user) != 0))
    return Error::from_errno("opening the directory of package layers");
  return ok();
}

}  // namespace vitrine::keeper
