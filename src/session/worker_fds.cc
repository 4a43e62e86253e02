// SPDX-License-Identifier: Apache-2.0
#include "session/worker_fds.h"

#include <utility>

namespace vitrine::session {

namespace {

Fd* place_of(WorkerFds& lines, wire::FdRole role) {
  switch (role) {
    case wire::FdRole::session_socket: return &lines.socket;
    case wire::FdRole::stdout_pipe: return &lines.out;
    case wire::FdRole::stderr_pipe: return &lines.err;
    case wire::FdRole::cpu_meter: return &lines.cpu;
    case wire::FdRole::memory_meter: return &lines.peak;
    case wire::FdRole::egress_log: return &lines.network;
    case wire::FdRole::egress_counters: return &lines.counters;
    case wire::FdRole::framebuffer:
    case wire::FdRole::screen_helper: break;
  }
  return nullptr;
}

}  // namespace

std::optional<WorkerFds> take_worker_fds(std::vector<Fd> fds, const wire::FdRoles& named,
                                         Outside outside) {
  if (fds.size() != named.roles.size()) return std::nullopt;
  WorkerFds lines;
  for (std::size_t i = 0; i < fds.size(); ++i) {
    Fd* place = place_of(lines, named.roles[i]);
    if (place == nullptr || *place) return std::nullopt;
    *place = std::move(fds[i]);
  }
  if (!lines.socket || !lines.out || !lines.err) return std::nullopt;
  if (outside == Outside::network && (!lines.network || !lines.counters)) return std::nullopt;
  return lines;
}

}  // namespace vitrine::session
