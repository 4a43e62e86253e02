// SPDX-License-Identifier: Apache-2.0
#include "jail/cgroup_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace vitrine::jail {

namespace {

constexpr int kMaxPasses = 100;
constexpr int kConfinePasses = 3;
constexpr std::size_t kMostAsked = 64;  // threads: who has more is not calm in any case
constexpr std::size_t kBatch = 64;      // descriptors open at a time while killing

struct CloseDirectory {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

Result<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return Error{Code::internal, "a cgroup file holds no number"};
  return value;
}

Result<std::uint64_t> number_behind(std::string_view key, std::string_view rest) {
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ')
      return to_number(line.substr(key.size() + 1));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Error{Code::unsupported, "the kernel does not count this"};
}

Result<std::vector<pid_t>> members(int dir, const std::string& path,
                                   const char* file = "cgroup.procs") {
  Result<std::string> text = read_file(dir, (path + "/" + file).c_str());
  std::vector<pid_t> pids;
  if (!text && text.error().code == Code::not_found) return pids;
  if (!text) return std::move(text.error());
  const char* at = text->data();
  const char* const end = at + text->size();
  while (at < end) {
    pid_t pid = 0;
    const auto [next, error] = std::from_chars(at, end, pid);
    if (error != std::errc()) break;
    if (pid > 0) pids.push_back(pid);  // 0 = not in our pid namespace
    at = next + 1;
  }
  return pids;
}

// A pid is sure to be a member's only if it is still listed after we hold its descriptor.
Status kill_batch(int dir, const std::string& path, std::span<const pid_t> pids) {
  std::vector<std::pair<pid_t, Fd>> held;
  for (pid_t pid : pids)
    if (Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); fd)
      held.emplace_back(pid, std::move(fd));
  Result<std::vector<pid_t>> now = members(dir, path);
  if (!now) return std::move(now.error());
  const std::set<pid_t> listed(now->begin(), now->end());
  for (const auto& [pid, fd] : held)
    if (listed.contains(pid) && pid != ::getpid())
      ::syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0);
  return ok();
}

}  // namespace

Result<std::uint64_t> read_number(int dir, const std::string& path) {
  Result<std::string> text = read_file(dir, path.c_str());
  if (!text) return std::move(text.error());
  return to_number(*text);
}

Result<std::uint64_t> read_number_from(int file) {
  std::array<char, 32> text;
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  if (got < 0) return Error::from_errno("reading a cgroup file");
  return to_number({text.data(), static_cast<std::size_t>(got)});
}

Result<std::uint64_t> read_keyed(int dir, const std::string& path, std::string_view key) {
  Result<std::string> text = read_file(dir, path.c_str());
  if (!text) return std::move(text.error());
  return number_behind(key, *text);
}

Result<std::uint64_t> read_keyed_from(int file, std::string_view key) {
  std::array<char, 4096> text;
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  if (got < 0) return Error::from_errno("reading a cgroup file");
  return number_behind(key, {text.data(), static_cast<std::size_t>(got)});
}

Status confine_members(int dir, const std::string& path, const char* file, const cpu_set_t& cpus) {
  std::set<pid_t> done;
  Status done_all = ok();
  for (int pass = 0; pass < kConfinePasses; ++pass) {
    Result<std::vector<pid_t>> all = members(dir, path, file);
    if (!all) return std::move(all.error());
    bool any = false;
    for (pid_t thread : *all) {
      if (!done.insert(thread).second) continue;
      any = true;
      // A number is not given out again within the moment since it was read: thousands come before.
      if (::sched_setaffinity(thread, sizeof cpus, &cpus) != 0 && errno != ESRCH && done_all)
        done_all = Error::from_errno("choosing processors");
    }
    if (!any) break;
  }
  return done_all;
}

std::uint64_t waited_usec_of_members(int dir, const std::string& path, const char* file) {
  Result<std::vector<pid_t>> all = members(dir, path, file);
  if (!all) return 0;
  if (all->size() > kMostAsked) all->resize(kMostAsked);
  std::uint64_t nanoseconds = 0;
  for (pid_t thread : *all) {
    // "time on a processor, time waiting for one, turns"
    Result<std::string> text =
        read_file(AT_FDCWD, ("/proc/" + std::to_string(thread) + "/schedstat").c_str());
    if (!text) continue;
    const std::size_t at = text->find(' ');
    if (at == std::string::npos) continue;
    std::uint64_t waited = 0;
    std::from_chars(text->data() + at + 1, text->data() + text->size(), waited);
    nanoseconds += waited;
  }
  return nanoseconds / 1000;
}

Status kill_members(int dir, const std::string& path) {
  std::set<pid_t> done;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    Result<std::vector<pid_t>> all = members(dir, path);
    if (!all) return std::move(all.error());
    std::vector<pid_t> fresh;
    for (pid_t pid : *all)
      if (pid != ::getpid() && done.insert(pid).second) fresh.push_back(pid);
    if (fresh.empty()) return ok();
    for (std::size_t i = 0; i < fresh.size(); i += kBatch) {
      const std::span batch(fresh.data() + i, std::min(kBatch, fresh.size() - i));
      if (Status killed = kill_batch(dir, path, batch); !killed) return killed;
    }
  }
  return Error{Code::timed_out, "processes of a session multiply faster than they can be killed"};
}

Result<bool> has_members(int dir, const std::string& path) {
  Result<std::string> text = read_file(dir, (path + "/cgroup.procs").c_str());
  if (!text && text.error().code == Code::not_found) return false;
  if (!text) return std::move(text.error());
  return !text->empty();
}

Result<std::vector<std::string>> groups_in(int dir, const std::string& path) {
  Fd fd(::openat(dir, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Error::from_errno("opening a cgroup");
  std::unique_ptr<DIR, CloseDirectory> entries(::fdopendir(fd.get()));
  if (!entries) return Error::from_errno("listing a cgroup");
  fd.release();
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get()))
    if (entry->d_type == DT_DIR && std::string_view(entry->d_name) != "." &&
        std::string_view(entry->d_name) != "..")
      names.push_back(path + "/" + entry->d_name);
  return names;
}

Status kill_below(int dir, const std::string& path) {
  if (write_file(dir, (path + "/cgroup.kill").c_str(), "1")) return ok();
  // v1: what was left frozen could not die.
  (void)write_file(dir, (path + "/freezer.state").c_str(), "THAWED");
  if (Status killed = kill_members(dir, path); !killed) return killed;
  Result<std::vector<std::string>> groups = groups_in(dir, path);
  if (!groups) return std::move(groups.error());
  for (const std::string& group : *groups)
    if (Status killed = kill_below(dir, group); !killed) return killed;
  return ok();
}

Status remove_group(int dir, const std::string& path, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    if (::unlinkat(dir, path.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return ok();
    if (errno != EBUSY || std::chrono::steady_clock::now() >= deadline)
      return Error::from_errno("removing a cgroup");
    const timespec pause{.tv_sec = 0, .tv_nsec = 500'000};
    ::nanosleep(&pause, nullptr);
  }
}

Status remove_below(int dir, const std::string& path, std::chrono::milliseconds patience) {
  Result<std::vector<std::string>> groups = groups_in(dir, path);
  if (!groups && groups.error().code == Code::not_found) return ok();
  if (!groups) return std::move(groups.error());
  for (const std::string& group : *groups)
    if (Status removed = remove_below(dir, group, patience); !removed) return removed;
  return remove_group(dir, path, patience);
}

}  // namespace vitrine::jail
