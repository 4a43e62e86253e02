// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/builder_loop.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "base/fd.h"
#include "base/packet.h"
#include "keeper/process/builder_clones.h"
#include "keeper/process/builder_messages.h"
#include "keeper/process/layers.h"

namespace vitrine::keeper {

namespace {

Result<pid_t> make(const BuildRequest& request, const std::vector<Fd>& fds,
                   const BuilderConfig& config, int proc) {
  if (const auto* shell = std::get_if<BuildShell>(&request))
    return clone_shell(*shell, fds, config, proc);
  if (const auto* zygote = std::get_if<StartZygote>(&request)) return clone_zygote(*zygote, fds);
  if (const auto* display = std::get_if<StartDisplay>(&request))
    return clone_display(*display, fds, config, proc);
  const auto& add = std::get<MountLayers>(request);
  Status mounted = mount_layers(add.layers, add.environment, fds[0].get());
  if (!mounted) return std::move(mounted.error());
  return ::getpid();
}

Status serve_one(int control, const Packet& packet, const BuilderConfig& config, int proc) {
  Asked asked = decode_build_request(packet.bytes, packet.fds.size());
  if (!asked.request) return answer_cloned(control, asked.what, std::move(asked.request.error()));
  if (const auto* listen = std::get_if<ListenInside>(&*asked.request))
    return answer_listener(control, asked.what,
                           listen_inside(packet.fds[0].get(), listen->port, proc));
  return answer_cloned(control, asked.what, make(*asked.request, packet.fds, config, proc));
}

// All sessions together get half of the inotify that the kernel grants the keeper's user on the host,
// whom it charges for them.
Status leave_inotify_to_host(int proc) {
  for (const std::string what : {"instances", "watches"}) {
    Result<std::string> all = read_file(proc, ("sys/fs/inotify/max_user_" + what).c_str());
    if (!all && all.error().code == Code::not_found) continue;  // a kernel without inotify
    if (!all) return std::move(all.error());
    const std::string half = std::to_string(std::strtoul(all->c_str(), nullptr, 10) / 2);
    if (Status s = write_file(proc, ("sys/user/max_inotify_" + what).c_str(), half); !s) return s;
  }
  return ok();
}

}  // namespace

void serve_builds(const BuilderConfig& config, int control) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) ::_exit(125);
  Fd proc(::open("proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct statfs info {};
  if (!proc || ::fstatfs(proc.get(), &info) != 0) ::_exit(125);
  if (info.f_type != PROC_SUPER_MAGIC) {
    // Its own /proc: the host's numbers processes differently.
    if (::mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
      Error error =
          Error::from_errno("mounting /proc")
              .with_remedy("a container that masks /proc must be started with an unmasked one");
      (void)send_packet(control, std::move(error).during("builder").pack());
      ::_exit(125);
    }
    proc = Fd(::open("proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  if (Status s = leave_inotify_to_host(proc.get()); !s) {
    (void)send_packet(control, std::move(s.error()).during("builder: limiting inotify").pack());
    ::_exit(125);
  }
  if (!send_packet(control, "ready")) ::_exit(125);
  for (;;) {
    Result<Packet> packet = receive_packet(control, 64 * 1024, kMaxPacketFds);
    if (!packet) ::_exit(0);
    if (!serve_one(control, *packet, config, proc.get())) ::_exit(0);
  }
}

}  // namespace vitrine::keeper
