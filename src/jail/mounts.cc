// SPDX-License-Identifier: Apache-2.0
#include "jail/mounts.h"

#include <sys/mount.h>

namespace vitrine::jail {

namespace {

std::string lowerdir(const std::vector<std::string>& layers) {
  std::string list = "lowerdir=";
  for (std::size_t i = 0; i < layers.size(); ++i) list += (i == 0 ? "" : ":") + layers[i];
  return list;
}

void add_proc(std::vector<Mount>& mounts) {
  mounts.push_back({.source = "proc",
                    .target = "proc",
                    .type = "proc",
                    .flags = MS_NOSUID | MS_NODEV | MS_NOEXEC,
                    .options = "hidepid=ptraceable"});
  // What tells about the host and helps nobody inside.
  for (const char* name :
       {"proc/keys", "proc/key-users", "proc/kallsyms", "proc/timer_list", "proc/kpagecount",
        "proc/kpageflags", "proc/kpagecgroup", "proc/config.gz", "proc/sysrq-trigger", "proc/kcore",
        "proc/kmsg", "proc/sched_debug", "proc/interrupts", "proc/slabinfo", "proc/modules",
        "proc/cmdline"})
    mounts.push_back(
        {.kind = MountKind::rebind, .source = "dev/null", .target = name, .optional = true});
}

void add_devices(std::vector<Mount>& mounts) {
  // They are the host's own inodes: read-only keeps their times, and nothing else, from changing.
  for (const char* name : {"dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom"})
    mounts.push_back({.kind = MountKind::bind,
                      .source = std::string("/") + name,
                      .target = name,
                      .flags = MS_RDONLY | MS_NOSUID | MS_NOEXEC});
}

}  // namespace

std::vector<Mount> settings_mounts() {
  return {{.kind = MountKind::rebind,
           .source = "proc/sys",
           .target = "proc/sys",
           .flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC}};
}

std::vector<Mount> scratch_mounts(const RootPlan& plan) {
  // One filesystem, so that disk_bytes is one exact quota; its own root ends up covered by /tmp.
  const std::string quota =
      "size=" + std::to_string(plan.disk_bytes) + ",nr_inodes=" + std::to_string(plan.inodes);
  const unsigned long flags = MS_NOSUID | MS_NODEV;
  std::vector<Mount> mounts;
  mounts.push_back({.source = "scratch",
                    .target = "tmp",
                    .type = "tmpfs",
                    .flags = flags,
                    .options = quota + ",mode=0755"});
  mounts.push_back({.kind = MountKind::directory, .target = "tmp/home", .flags = 0755});
  mounts.push_back({.kind = MountKind::directory, .target = "tmp/shm", .flags = 01777});
  mounts.push_back({.kind = MountKind::directory, .target = "tmp/tmp", .flags = 01777});
  mounts.push_back({.kind = MountKind::directory, .target = "tmp/tmp/.runtime", .flags = 0700});
  mounts.push_back({.kind = MountKind::directory, .target = "tmp/tmp/.X11-unix", .flags = 0755});
  mounts.push_back(
      {.kind = MountKind::rebind, .source = "tmp/home", .target = "home/sandbox", .flags = flags});
  mounts.push_back({.kind = MountKind::rebind,
                    .source = "tmp/shm",
                    .target = "dev/shm",
                    .flags = flags | MS_NOEXEC});
  mounts.push_back(
      {.kind = MountKind::rebind, .source = "tmp/tmp", .target = "tmp", .flags = flags});
  return mounts;
}

std::vector<Mount> mount_plan(const RootPlan& plan) {
  std::vector<Mount> mounts;
  mounts.push_back({.source = "overlay",
                    .target = "",
                    .type = "overlay",
                    .flags = MS_RDONLY | MS_NOSUID | MS_NODEV,
                    .options = lowerdir(plan.layers)});
  add_devices(mounts);
  if (plan.kind == RootKind::display) {
    mounts.push_back({.source = "display",
                      .target = "tmp",
                      .type = "tmpfs",
                      .flags = MS_NOSUID | MS_NODEV | MS_NOEXEC,
                      .options = "size=" + std::to_string(plan.disk_bytes) +
                                 ",nr_inodes=" + std::to_string(plan.inodes) + ",mode=0700"});
    return mounts;
  }
  if (plan.kind == RootKind::session) add_proc(mounts);  // covered with the device above
  if (plan.kind == RootKind::session)
    mounts.push_back({.source = "devpts",
                      .target = "dev/pts",
                      .type = "devpts",
                      .flags = MS_RDONLY | MS_NOSUID | MS_NOEXEC,  // terminals still come and go
                      .options = "newinstance,ptmxmode=0666,mode=0620,max=64"});
  for (Mount& mount : scratch_mounts(plan)) mounts.push_back(std::move(mount));
  if (plan.kind == RootKind::session)
    mounts.push_back({.source = "display",
                      .target = kDisplayDirectory + 1,
                      .type = "tmpfs",
                      .flags = MS_NOSUID | MS_NODEV | MS_NOEXEC,
                      .options = "size=16k,nr_inodes=4,mode=0755"});
  return mounts;
}

}  // namespace vitrine::jail
