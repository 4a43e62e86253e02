// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/clone.h"

#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/fd.h"

namespace vitrine::keeper {

pid_t clone_process(std::uint64_t flags, int cgroup) {
  clone_args args{};
  args.flags = flags;
  if (cgroup >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(cgroup);
  }
  args.exit_signal = (flags & CLONE_PARENT) != 0 ? 0 : SIGCHLD;
  return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
}

int close_all(unsigned first, unsigned last) {
  return static_cast<int>(::syscall(SYS_close_range, first, last, 0));
}

namespace {

Status write_map(jail::Sys& sys, int proc, pid_t pid, const char* map, const std::string& text) {
  const std::string path = std::to_string(pid) + "/" + map;
  if (sys.fails()) return Error::from_errno(std::string("writing ") + map);
  return write_file(proc, path.c_str(), text);
}

}  // namespace

Status map_ids(jail::Sys& sys, int proc, pid_t pid, unsigned inside, std::uint32_t outside,
               std::uint32_t count) {
  const std::string line =
      std::to_string(inside) + " " + std::to_string(outside) + " " + std::to_string(count) + "\n";
  if (Status s = write_map(sys, proc, pid, "setgroups", "deny"); !s) return s;
  if (Status s = write_map(sys, proc, pid, "uid_map", line); !s) return s;
  return write_map(sys, proc, pid, "gid_map", line);
}

}  // namespace vitrine::keeper
