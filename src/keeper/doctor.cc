// SPDX-License-Identifier: Apache-2.0
#include "keeper/doctor.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <vector>

#include "jail/cgroup_host.h"
#include "jail/landlock.h"
#include "keeper/image.h"

namespace vitrine::keeper {

namespace {

constexpr std::uint64_t kDescriptorsPerSession = 8;  // pidfds, sockets, directories, cgroups

enum class State { ok, missing, note };

struct Check {
  std::string name;
  State state = State::ok;
  std::string detail;
  std::string remedy = {};
};

// 0, or the errno of what failed there.
int in_child(const std::function<bool()>& attempt) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) ::_exit(attempt() ? 0 : errno == 0 ? EIO : errno & 0xFF);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

// A user namespace in which we are root.
bool enter_user_namespace() {
  const std::string uid = std::to_string(::geteuid());
  const std::string gid = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER) != 0) return false;
  (void)write_file(AT_FDCWD, "/proc/self/setgroups", "deny");
  return static_cast<bool>(write_file(AT_FDCWD, "/proc/self/uid_map", "0 " + uid + " 1")) &&
         static_cast<bool>(write_file(AT_FDCWD, "/proc/self/gid_map", "0 " + gid + " 1"));
}

// As sessions are mounted: an overlay on memory, inside a user namespace.
bool mount_overlay() {
  if (!enter_user_namespace() || ::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", "/tmp", "tmpfs", 0, nullptr) != 0)
    return false;
  for (const char* name : {"/tmp/l", "/tmp/u", "/tmp/w", "/tmp/m"})
    if (::mkdir(name, 0755) != 0) return false;
  return ::mount("overlay", "/tmp/m", "overlay", 0,
                 "lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w,userxattr") == 0;
}

bool can_filter() {
  const std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

Check tried(std::string name, const std::function<bool()>& attempt, std::string remedy) {
  const int reason = in_child(attempt);
  if (reason == 0) return {std::move(name), State::ok, "works"};
  return {std::move(name), State::missing, std::strerror(reason), std::move(remedy)};
}

std::string line_of(const char* path) {
  Result<std::string> text = read_file(AT_FDCWD, path);
  if (!text) return "";
  while (text->ends_with('\n')) text->pop_back();
  return *text;
}

void check_namespaces(std::vector<Check>& checks) {
  const bool apparmor =
      line_of("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" && ::geteuid() != 0;
  checks.push_back(tried("user namespaces", enter_user_namespace,
                         apparmor ? "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
                                  : "sudo sysctl -w user.max_user_namespaces=65536 "
                                    "kernel.unprivileged_userns_clone=1; in a container, start it "
                                    "with --security-opt seccomp=unconfined or --privileged"));
  const std::string remedy = apparmor
                                 ? "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
                                 : "in a container, start it with --privileged, or with "
                                   "--security-opt seccomp=unconfined apparmor=unconfined";
  constexpr std::pair<const char*, int> kKinds[] = {
      {"mount namespaces", CLONE_NEWNS},    {"pid namespaces", CLONE_NEWPID},
      {"network namespaces", CLONE_NEWNET}, {"ipc namespaces", CLONE_NEWIPC},
      {"uts namespaces", CLONE_NEWUTS},     {"cgroup namespaces", CLONE_NEWCGROUP}};
  for (const auto& [name, flag] : kKinds)
    checks.push_back(tried(
        name, [flag = flag] { return enter_user_namespace() && ::unshare(flag) == 0; }, remedy));
  checks.push_back(
      tried("overlayfs", mount_overlay, "sudo modprobe overlay; needs Linux 5.11 or later"));
}

void check_walls(std::vector<Check>& checks) {
  checks.push_back(tried("seccomp", can_filter, "use a kernel with CONFIG_SECCOMP_FILTER"));
  Result<int> abi = jail::landlock_abi();
  if (abi && *abi > 0) checks.push_back({"Landlock", State::ok, "ABI " + std::to_string(*abi)});
  else
    checks.push_back({"Landlock", State::missing,
                      abi ? "the kernel has none, or it is off" : abi.error().message,
                      "use Linux 5.13 or later, and add landlock to the kernel's lsm= list, such "
                      "as lsm=landlock,lockdown,yama,integrity,apparmor"});
}

void check_cgroups(std::vector<Check>& checks, const jail::CgroupHost& host) {
  const auto add = [&](const char* name, const jail::CgroupOffer& offer) {
    const std::string title = std::string("cgroup ") + name;
    if (offer) {
      const bool v2 = host.places[*offer.place].version == jail::CgroupVersion::v2;
      checks.push_back({title, State::ok, v2 ? "v2, writable" : "v1, writable"});
      return;
    }
    checks.push_back({title, State::missing, offer.refusal,
                      ::geteuid() == 0
                          ? "mount the hierarchy writable; in a container, start it with "
                            "--privileged --cgroupns=private"
                          : "start it as `systemd-run --user --scope -p Delegate=yes vitrine "
                            "serve`, or as root"});
  };
  add("memory", host.memory);
  add("pids", host.pids);
  add("cpu", host.cpu);
  add("freeze", host.freeze);
  add("kill", host.kill);
}

void check_capacity(std::vector<Check>& checks, std::uint32_t capacity) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const std::uint64_t wanted = capacity * kDescriptorsPerSession + 256;
  const std::string is = std::to_string(files.rlim_max);
  if (files.rlim_max >= wanted)
    checks.push_back(
        {"open files", State::ok, is + ", enough for " + std::to_string(capacity) + " sessions"});
  else
    checks.push_back({"open files", State::note,
                      is + " serve about " +
                          std::to_string((files.rlim_max - std::min<rlim_t>(files.rlim_max, 256)) /
                                         kDescriptorsPerSession) +
                          " sessions, the capacity is " + std::to_string(capacity),
                      "ulimit -Hn " + std::to_string(wanted) +
                          " (as root), or LimitNOFILE= in the "
                          "systemd unit, or a smaller --capacity"});
}

std::string chosen(const std::string& options) {  // "always [madvise] never"
  const auto open = options.find('[');
  const auto close = options.find(']', open);
  return open == std::string::npos || close == std::string::npos
             ? options
             : options.substr(open + 1, close - open - 1);
}

void check_memory(std::vector<Check>& checks) {
  const std::string huge = chosen(line_of("/sys/kernel/mm/transparent_hugepage/enabled"));
  if (huge == "madvise" || huge == "always") checks.push_back({"huge pages", State::ok, huge});
  else
    checks.push_back({"huge pages", State::note,
                      (huge.empty() ? "not offered" : huge) + ": sessions start slower",
                      "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"});
  const std::string ksm = line_of("/sys/kernel/mm/ksm/run");
  if (ksm == "1")
    checks.push_back({"KSM", State::note, "on: sharing pages tells sessions about each other",
                      "echo 2 | sudo tee /sys/kernel/mm/ksm/run"});
  else checks.push_back({"KSM", State::ok, "off"});
  const std::string damon = line_of("/sys/module/damon_reclaim/parameters/enabled");
  if (damon == "Y")
    checks.push_back({"DAMON reclaim", State::note,
                      "on: idle sessions use less memory and wake up slower",
                      "echo N | sudo tee /sys/module/damon_reclaim/parameters/enabled"});
  else checks.push_back({"DAMON reclaim", State::ok, "off"});
}

void check_image(std::vector<Check>& checks, const std::string& directory) {
  Result<Image> image = open_image(directory);
  if (!image) {
    checks.push_back({"image", State::missing, image.error().message, image.error().remedy});
    return;
  }
  std::string detail = "Python " + image->python;
  if (Result<std::string> manifest =
          read_file(AT_FDCWD, (directory + "/manifest.json").c_str(), 4 << 20))
    for (const char* name : {"release", "numpy", "pandas", "scipy", "matplotlib"})
      if (const std::string value = manifest_value(*manifest, name); !value.empty())
        detail += std::string(", ") +
                  (name == std::string("release") ? "" : name + std::string(" ")) + value;
  checks.push_back({"image", State::ok, detail});
}

// Not needed where a full jail is possible; otherwise what --isolation-floor container would do.
void check_floor(std::vector<Check>& checks) {
  if (missing_for_full_jail().empty()) return;
  if (::geteuid() != 0) {
    checks.push_back({"container floor", State::note,
                      "needs root, to give sessions ids of their own",
                      "start it as the container's root"});
    return;
  }
  std::string lost;
  for (const char* one : kLostOnTheFloor) lost += std::string(lost.empty() ? "" : "; ") + one;
  checks.push_back({"container floor", State::note, "possible, weaker: " + lost,
                    "vitrine serve --isolation-floor container, if that will do"});
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

}  // namespace

std::vector<std::string> best_effort_limits(Level level, const jail::CgroupHost& host) {
  std::vector<std::string> list;
  if (level == Level::container || !host.memory) list.emplace_back("memory_mb");
  if (level == Level::container || !host.cpu) list.emplace_back("cpus");
  if (level == Level::container) list.emplace_back("disk_mb");
  return list;
}

LimitsLevel limits_level(Level level, const jail::CgroupHost& host) {
  return best_effort_limits(level, host).empty() ? LimitsLevel::enforced : LimitsLevel::best_effort;
}

std::vector<std::string> missing_for_full_jail() {
  std::vector<Check> checks;
  check_namespaces(checks);
  std::vector<std::string> missing;
  for (const Check& check : checks)
    if (check.state == State::missing) missing.push_back(check.name);
  return missing;
}

Diagnosis diagnose(const Options& options) {
  utsname kernel{};
  ::uname(&kernel);
  std::vector<Check> checks{
      {"kernel", State::ok, std::string(kernel.release) + " " + kernel.machine},
      {"user", State::ok,
       ::geteuid() == 0 ? "root"
                        : "not root: one host "
                          "user id for all "
                          "sessions"}};
  check_namespaces(checks);
  check_walls(checks);
  const jail::CgroupHost host = jail::detect_cgroups();
  check_cgroups(checks, host);
  check_capacity(checks, options.capacity);
  check_memory(checks);
  check_image(checks, options.image);

  check_floor(checks);

  Diagnosis diagnosis{.full = true};
  std::string list;
  for (const Check& check : checks) {
    if (check.state == State::missing) diagnosis.full = false;
    const char* state = check.state == State::ok        ? "ok"
                        : check.state == State::missing ? "missing"
                                                        : "note";
    list += std::string(list.empty() ? "" : ",") + "{\"name\":" + quoted(check.name) +
            ",\"state\":\"" + state + "\",\"detail\":" + quoted(check.detail) +
            ",\"remedy\":" + quoted(check.remedy) + "}";
  }
  const Level level = missing_for_full_jail().empty() ? Level::full : Level::container;
  diagnosis.json = std::string("{\"full\":") + (diagnosis.full ? "true" : "false") +
                   ",\"limits_level\":" + quoted(to_string(limits_level(level, host))) +
                   ",\"checks\":[" + list + "]}";
  return diagnosis;
}

}  // namespace vitrine::keeper
