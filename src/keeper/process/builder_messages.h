// SPDX-License-Identifier: Apache-2.0
// What the keeper asks its builder and what that answers, as packets on their socket. Encoding and
// decoding stand side by side here, so that neither can change without the other.
//
// Trust: both ends are ours; messages are not bounded against an attacker.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "keeper/process/shells.h"

namespace vitrine::keeper {

// keeper -> builder. Descriptors travel beside the message, in the order named.
struct BuildShell {  // fds: channel, v2 cgroup if there is one, join descriptors of v1 cgroups
  std::uint64_t shell = 0;
  std::uint32_t slot = 0;  // which ids of the outer namespace it gets
  std::uint64_t disk_bytes = 0;
  std::uint64_t inodes = 0;
  std::uint32_t fail_at = 0;
  bool has_cgroup = false;
};

// Mounts package layers, as model/layer.h names them, at kLayerPoint in a shell that stands. The answer
// is a Cloned whose pid is the builder's own.
struct MountLayers {  // fds: pidfd of the shell's init
  std::uint64_t request = 0;
  LayerList layers;
  std::string environment;  // below them; "" = none
};
struct ListenInside {  // fds: pidfd of a shell's init, whose network namespace it is
  std::uint64_t what = 0;
  std::uint16_t port = 0;  // on 127.0.0.1
};

// builder -> keeper: the process exists, its ids are mapped, and it waits for GO on its channel.
// pid < 0: it could not be made, `error` says why.
struct Cloned {
  std::uint64_t what = 0;  // shell, zygote or listener number
  std::int32_t pid = -1;
  Fd listener = {};  // to ListenInside
  Error error = {};
};

// The keeper's side.
Status send_build_shell(int control, const BuildShell& request, const std::vector<int>& fds);
Status send_start_zygote(int control, const StartZygote& request, int socket, int zygote_filter,
                         int worker_filter);
Status send_mount_layers(int control, const MountLayers& request, int init);
Status send_listen_inside(int control, const ListenInside& request, int init);
Status send_start_display(int control, const StartDisplay& request, const std::vector<int>& fds);
Result<Cloned> receive_cloned(int control);

// The builder's side. `what` is the number that the answer has to name, also for a request that makes no
// sense: then there is an error.
using BuildRequest = std::variant<BuildShell, StartZygote, ListenInside, StartDisplay, MountLayers>;
struct Asked {
  std::uint64_t what = 0;
  Result<BuildRequest> request;
};
Asked decode_build_request(std::string_view bytes, std::size_t descriptors);

// The process that was made; its number travels as the kernel's word.
Status answer_cloned(int control, std::uint64_t what, const Result<int>& pid);
Status answer_listener(int control, std::uint64_t what, const Result<Fd>& listener);

}  // namespace vitrine::keeper
