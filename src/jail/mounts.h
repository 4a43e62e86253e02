// SPDX-License-Identifier: Apache-2.0
// The mount tree of a session as data: what is mounted where, in order, before anything is done.
//
// Pure: no system call here. Targets are relative to the new root; a reviewer reads mount_plan(),
// a test checks it, and shell.cc applies it line by line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine::jail {

enum class MountKind {
  filesystem,  // mount(source, target, type, flags, options)
  bind,        // a file or directory of the builder's tree, then flags applied
  rebind,      // a directory of the new root itself, bound over another
  directory,   // mkdir in the new root: only inside a filesystem mounted before
};

struct Mount {
  MountKind kind = MountKind::filesystem;
  std::string source;
  std::string target;  // relative to the new root; "" = the new root itself
  std::string type;
  unsigned long flags = 0;
  std::string options;
  bool optional = false;  // skipped where the target does not exist (kernel built without it)
};

enum class RootKind {
  session,  // everything
  zygote,   // no /proc (its pid namespace is the host's), a small scratch space
  display,  // of an X server: no /proc either, and a /tmp that nobody else sees
};

struct RootPlan {
  RootKind kind = RootKind::session;
  std::vector<std::string> layers;  // below the staging directory, topmost first; two at least
  std::uint64_t disk_bytes = 0;
  std::uint64_t inodes = 0;
};

std::vector<Mount> mount_plan(const RootPlan& plan);

// What makes the kernel's settings read-only. A step of its own (jail/shell.h): limits are written there
// after /proc is mounted.
std::vector<Mount> settings_mounts();

// Where a session finds its display: a filesystem of its own, read-only once it is furnished, so
// that the scratch space below it can be replaced.
inline constexpr const char* kDisplayDirectory = "/tmp/.X11-unix";

// The scratch space alone (/tmp, /home/sandbox, /dev/shm): what a recycled shell gets anew.
std::vector<Mount> scratch_mounts(const RootPlan& plan);

}  // namespace vitrine::jail
