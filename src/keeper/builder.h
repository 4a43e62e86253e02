// SPDX-License-Identifier: Apache-2.0
// The builder: a child of the keeper that lives in the outer user namespace and makes everything that
// needs capabilities there - shells and zygotes - so that no host root is near either.
//
// Ownership: the keeper starts one, talks to it over a socket, and starts another if it dies. What it
// makes (CLONE_PARENT) are children of the keeper.
// Trust:     both ends are ours; messages are not bounded against an attacker.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "jail/display.h"
#include "jail/shell.h"
#include "keeper/shells.h"

namespace vitrine::keeper {

// Ids of the outer namespace as the host sees them.
struct OuterIds {
  std::uint32_t first = 0;  // outer 0
  std::uint32_t count = 1;  // 1 = unprivileged: sessions share the keeper's own uid
};

struct BuilderConfig {
  OuterIds ids;
  std::string image;      // the image's root directory
  std::string runtime;    // the directory laid over it (usr/lib/vitrine/...)
  int init_program = -1;  // sealed memfd
  // The two as mounts of their own, made by a keeper that may reach what the builder may not, such as
  // a directory below /root; -1 = the builder opens them by their names.
  int image_tree = -1;
  int runtime_tree = -1;
  int screen_program = -1;  // sealed memfd of vitrine-screen; -1 = this build has none
  int display_filter = -1;  // sealed memfd: the base system call filter
  // Package layers: a directory with one directory each, and one with wheels; "" = there is none.
  std::string layers = {};
  std::string wheels = {};
  int layers_tree = -1;
  int wheels_tree = -1;
  std::string environments = {};  // the operator's, one directory each; "" = there are none
  int environments_tree = -1;
};

// The outer namespaces outlive a builder: a process of their own holds them, pid 1 of the outer pid
// namespace. It dies with the keeper, and everything inside dies with it.
struct Builder {
  int pid = -1;
  int foundation = -1;  // pid of that process
  Fd control;           // the keeper's end of the builder's socket
};

// Forks a builder, with new outer namespaces (`foundation` < 0) or into existing ones.
// `placed` is called with the pid of the process that everything else descends from, before it does
// anything.
Result<Builder> start_builder(const BuilderConfig& config, int foundation,
                              const std::function<Status(int pid)>& placed);

// keeper -> builder. Descriptors travel beside the message, in the order named.
struct BuildShell {  // fds: channel, v2 cgroup if there is one, doors of v1 cgroups
  std::uint64_t shell = 0;
  std::uint32_t slot = 0;  // which ids of the outer namespace it gets
  std::uint64_t disk_bytes = 0;
  std::uint64_t inodes = 0;
  std::uint32_t fail_at = 0;
  bool has_cgroup = false;
};

// Mounts a package layer, as model/layer.h names it, at kLayerPoint in a shell that stands. The answer
// is a Cloned whose pid is the builder's own.
struct AddLayer {  // fds: pidfd of the shell's init
  std::uint64_t request = 0;
  std::string layer;        // "" = none
  std::string environment;  // below it; "" = none
};
struct ListenInside {  // fds: pidfd of a shell's init, whose network namespace it is
  std::uint64_t what = 0;
  std::uint16_t port = 0;  // on 127.0.0.1
};

// How many sessions can have ids of their own: each takes one for its code and one for its display.
inline std::uint32_t slots_of(const OuterIds& ids) { return (ids.count - 1) / 2; }

// builder -> keeper: the process exists, its ids are mapped, and it waits for GO on its channel.
// pid < 0: it could not be made, `error` says why.
struct Cloned {
  std::uint64_t what = 0;  // shell, zygote or listener number
  std::int32_t pid = -1;
  Fd listener = {};  // to ListenInside
  Error error = {};
};

Status send_build_shell(int control, const BuildShell& request, const std::vector<int>& fds);
Status send_start_zygote(int control, const StartZygote& request, int socket, int zygote_filter,
                         int worker_filter);
Status send_add_layer(int control, const AddLayer& request, int init);
Status send_listen_inside(int control, const ListenInside& request, int init);
Status send_start_display(int control, const StartDisplay& request, const std::vector<int>& fds);
Result<Cloned> receive_cloned(int control);

}  // namespace vitrine::keeper
