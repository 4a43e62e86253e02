// SPDX-License-Identifier: Apache-2.0
#include "engine/host.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace vitrine::bench {

namespace fs = std::filesystem;

namespace {

std::string slurp(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The number after `name` in a "Name:  123 kB" file.
double field(const std::string& text, const std::string& name) {
  const auto at = text.find(name);
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + name.size(), nullptr);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::string path_of(int pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

long lines(const std::string& text) {
  return static_cast<long>(std::count(text.begin(), text.end(), '\n'));
}

long entries(const std::string& path) {
  std::error_code gone;
  long count = 0;
  for (auto it = fs::directory_iterator(path, gone); !gone && it != fs::directory_iterator();
       it.increment(gone))
    ++count;
  return count;
}

}  // namespace

CpuTime machine_cpu() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
  file >> cpu >> user >> nice >> system >> idle >> wait >> irq >> soft >> steal;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return {.busy = (user + nice + system + irq + soft) / ticks, .stolen = steal / ticks};
}

double own_cpu() {
  double all = 0;
  for (auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(who, &used);
    all += seconds(used.ru_utime) + seconds(used.ru_stime);
  }
  return all;
}

int cores() { return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); }

Memory machine_memory() {
  const std::string text = slurp("/proc/meminfo");
  return {.available = field(text, "MemAvailable:"),
          .slab = field(text, "Slab:"),
          .page_tables = field(text, "PageTables:"),
          .kernel_stacks = field(text, "KernelStack:")};
}

ProcessMemory memory_of(int pid) {
  const std::string text = slurp(path_of(pid, "smaps_rollup"));
  return {.rss = field(text, "Rss:"),
          .pss = field(text, "Pss:"),
          .private_dirty = field(text, "Private_Dirty:"),
          .huge = field(text, "AnonHugePages:")};
}

std::vector<int> children_of(int pid) {
  std::vector<int> found;
  std::istringstream text(
      slurp(path_of(pid, ("task/" + std::to_string(pid) + "/children").c_str())));
  for (int child = 0; text >> child;) found.push_back(child);
  return found;
}

std::vector<int> descendants_of(int pid) {
  std::vector<int> found = children_of(pid);
  for (std::size_t i = 0; i < found.size(); ++i)
    for (int child : children_of(found[i])) found.push_back(child);
  return found;
}

double cpu_of_tree(int pid) {
  std::vector<int> all = descendants_of(pid);
  all.push_back(pid);
  double ticks = 0;
  for (int one : all) {
    const std::string text = slurp(path_of(one, "stat"));
    const auto at = text.rfind(')');
    if (at == std::string::npos) continue;
    std::istringstream fields(text.substr(at + 1));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;  // state ... cmajflt
    double user = 0, system = 0, childrens_user = 0, childrens_system = 0;
    fields >> user >> system >> childrens_user >> childrens_system;
    ticks += user + system + childrens_user + childrens_system;
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Directories anywhere below the cgroup filesystems that belong to the keeper of this name.
long cgroups_named(const std::string& name) {
  std::error_code gone;
  long count = 0;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto it = fs::recursive_directory_iterator("/sys/fs/cgroup", options, gone);
       !gone && it != fs::recursive_directory_iterator(); it.increment(gone))
    if (it->is_directory(gone) && it->path().string().find(name) != std::string::npos) ++count;
  return count;
}

Holdings holdings_of(int keeper, const std::string& name, const std::string& directory) {
  std::vector<int> all = descendants_of(keeper);
  all.push_back(keeper);
  Holdings now;
  now.processes = static_cast<long>(all.size());
  now.descriptors = entries(path_of(keeper, "fd"));
  now.cgroups = cgroups_named(name);
  now.files = entries(directory);
  std::set<std::string> spaces;
  std::set<std::string> mount_spaces;
  for (int pid : all) {
    std::error_code gone;
    for (const auto& link : fs::directory_iterator(path_of(pid, "ns"), gone))
      spaces.insert(fs::read_symlink(link.path(), gone).string());
    const std::string mounts = fs::read_symlink(path_of(pid, "ns/mnt"), gone).string();
    if (mount_spaces.insert(mounts).second) now.mounts += lines(slurp(path_of(pid, "mountinfo")));
  }
  now.namespaces = static_cast<long>(spaces.size());
  return now;
}

}  // namespace vitrine::bench
