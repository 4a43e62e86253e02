// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/builder_clones.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <utility>

#include "base/packet.h"
#include "jail/authority.h"
#include "jail/display.h"
#include "jail/seccomp.h"
#include "jail/shell.h"
#include "keeper/process/clone.h"
#include "keeper/process/layers.h"

namespace vitrine::keeper {

namespace {

constexpr int kAbove = 200;  // descriptors that survive a sweep of the lower ones are moved here

jail::RootPlan root_plan(jail::RootKind kind, std::uint64_t disk_bytes, std::uint64_t inodes) {
  return {.kind = kind, .layers = {"runtime", "image"}, .disk_bytes = disk_bytes, .inodes = inodes};
}

// Brings up `lo` in this thread's network namespace.
Status raise_loopback(jail::Sys& sys) {
  Fd socket(sys(::socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return Error::from_errno("opening a socket");
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (sys(::ioctl, socket.get(), SIOCSIFFLAGS, &request) != 0)
    return Error::from_errno("raising the loopback interface");
  return ok();
}

[[noreturn]] void report_and_exit(int channel, const Error& error) {
  (void)send_packet(channel, "\1" + error.pack(), {}, Wait::dont);
  ::_exit(125);
}

[[noreturn]] void run_shell(const BuildShell& request, const std::vector<Fd>& fds, int init_program,
                            jail::Sys sys) {
  // Only its own descriptors; the builder may hold others.
  std::vector<Fd> kept;
  for (const Fd& fd : fds) kept.emplace_back(sys(::fcntl, fd.get(), F_DUPFD_CLOEXEC, kAbove));
  kept.emplace_back(sys(::fcntl, init_program, F_DUPFD_CLOEXEC, kAbove));
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i].get() != kAbove + static_cast<int>(i))
      report_and_exit(fds[0].get(), Error::from_errno("descriptors: moving one"));
  const auto last = static_cast<unsigned>(kept.back().get());
  if (sys(close_all, 0u, kAbove - 1u) != 0 || sys(close_all, last + 1, ~0U) != 0)
    report_and_exit(kAbove, Error::from_errno("descriptors: closing the others"));
  Fd kept_init = std::move(kept.back());
  Fd kept_channel = std::move(kept.front());
  kept.pop_back();
  kept.erase(kept.begin(), kept.begin() + (request.has_cgroup ? 2 : 1));

  Result<Packet> go = receive_packet(kept_channel.get(), 16, 0);
  if (!go) ::_exit(125);
  const jail::ShellPlan plan{
      .root = root_plan(jail::RootKind::session, request.disk_bytes, request.inodes),
      .fail_at = request.fail_at};
  jail::ShellBuild build{.plan = plan,
                         .sys = sys,
                         .init_program = kept_init.get(),
                         .channel = kept_channel.get(),
                         .cgroups = std::move(kept),
                         .home = {},
                         .display = {},
                         .cookie = {},
                         .ruleset = {}};
  report_and_exit(kept_channel.get(), jail::build_shell(build));
}

// Moves descriptors out of the way, in order, and closes all others. The first is told what fails.
std::vector<Fd> keep_only(jail::Sys& sys, const std::vector<int>& wanted) {
  std::vector<Fd> kept;
  for (int fd : wanted) kept.emplace_back(sys(::fcntl, fd, F_DUPFD_CLOEXEC, kAbove));
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i].get() != kAbove + static_cast<int>(i))
      report_and_exit(wanted[0], Error::from_errno("descriptors: moving one"));
  const auto last = static_cast<unsigned>(kept.back().get());
  if (sys(close_all, 0u, kAbove - 1u) != 0 || sys(close_all, last + 1, ~0U) != 0)
    report_and_exit(kAbove, Error::from_errno("descriptors: closing the others"));
  return kept;
}

[[noreturn]] void run_display(const StartDisplay& request, const std::vector<Fd>& fds,
                              const BuilderConfig& config, const std::vector<sock_filter>& filter,
                              jail::Sys sys) {
  // First of all: who ends before its ids are mapped is taken for one that could not be.
  Result<Packet> go = receive_packet(fds[0].get(), 16, 0);
  if (!go) ::_exit(125);
  std::vector<int> wanted;
  for (const Fd& fd : fds) wanted.push_back(fd.get());
  if (request.has_helper) wanted.push_back(config.screen_program);
  std::vector<Fd> kept = keep_only(sys, wanted);
  const Fd channel = std::move(kept[0]);
  const jail::DisplayPlan plan{
      .root = root_plan(jail::RootKind::display, jail::display_room_bytes(request.geometry),
                        jail::kDisplayInodes),
      .geometry = request.geometry,
      .cookie = request.cookie,
      .fail_at = request.fail_at};
  jail::DisplayBuild build{.plan = plan,
                           .sys = sys,
                           .channel = channel.get(),
                           .listener = std::move(kept[1]),
                           .helper_program = {},
                           .helper_socket = {},
                           .cgroups = {},
                           .filter = filter};
  std::size_t next = 2;
  if (request.has_helper) {
    build.helper_socket = std::move(kept[next++]);
    build.helper_program = std::move(kept.back());
    kept.pop_back();
  }
  if (request.has_cgroup) ++next;  // it was cloned into that one
  for (; next < kept.size(); ++next) build.cgroups.push_back(std::move(kept[next]));
  report_and_exit(channel.get(), jail::run_display(build));
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

[[noreturn]] void run_zygote(const StartZygote& request, const std::vector<Fd>& fds) {
  const int targets[] = {kZygoteControl, kZygoteFilter, kWorkerFilter};
  std::vector<int> high;
  for (const Fd& fd : fds) high.push_back(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kAbove));
  for (std::size_t i = 0; i < high.size(); ++i)
    if (high[i] < 0 || ::dup3(high[i], targets[i], O_CLOEXEC) < 0) ::_exit(125);
  if (close_all(kWorkerFilter + 1, ~0U) != 0) ::_exit(125);

  Result<Packet> go = receive_packet(kZygoteControl, 16, 0);
  if (!go) ::_exit(125);
  auto fail = [](const Error& error) {
    std::string text = "vitrine: zygote: " + error.describe() + "\n";
    (void)!::write(2, text.data(), text.size());
    ::_exit(125);
  };
  jail::Sys sys;
  const auto mounts = jail::mount_plan(root_plan(jail::RootKind::zygote, 64 << 20, 4096));
  if (Status s = jail::mount_tree(sys, mounts, "root"); !s) fail(s.error());
  if (!request.packages.empty())
    if (Status s = mount_environment(request.packages, "root"); !s) fail(s.error());
  if (Status s = jail::pivot_into(sys, "root"); !s) fail(s.error());
  if (::sethostname(jail::kHostName.data(), jail::kHostName.size()) != 0)
    fail(Error::from_errno("naming the host"));
  if (::chdir("/home/sandbox") != 0) fail(Error::from_errno("entering the home"));
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0 || ::dup2(null, 0) != 0) fail(Error::from_errno("opening /dev/null"));
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    fail(Error::from_errno("asking to die with the keeper"));
  for (int fd : targets) ::fcntl(fd, F_SETFD, 0);
  ::execve(request.argv.front().c_str(), pointers(request.argv).data(),
           pointers(request.environment).data());
  fail(Error::from_errno("starting the image's Python"));
  ::_exit(125);
}

Result<Fd> listen_on_loopback(std::uint16_t port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  constexpr int kBacklog = 64;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), kBacklog) != 0)
    return Error::from_errno("listening inside a session");
  return socket;
}

}  // namespace

Result<pid_t> clone_shell(const BuildShell& request, const std::vector<Fd>& fds,
                          const BuilderConfig& config, int proc) {
  // The network namespace is made here, so it belongs to the outer user namespace: session code has
  // no capability over it.
  jail::Sys sys(request.fail_at);
  if (sys(::unshare, CLONE_NEWNET) != 0) return Error::from_errno("making a network namespace");
  if (Status s = raise_loopback(sys); !s) return std::move(s.error());
  constexpr std::uint64_t kNamespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
  const pid_t pid =
      sys(clone_process, CLONE_PARENT | kNamespaces, request.has_cgroup ? fds[1].get() : -1);
  if (pid < 0) return Error::from_errno("cloning a shell");
  if (pid == 0) {
    sys.skip(kMaps);
    run_shell(request, fds, config.init_program, sys);
  }
  const std::uint32_t outside = config.ids.count > 1 ? 1 + request.slot : 0;
  if (Status s = map_ids(sys, proc, pid, jail::kSandboxId, outside, 1); !s) {
    ::kill(pid, SIGKILL);  // a child of the keeper, which reaps it; it never saw GO
    return std::move(s.error()).during("mapping its ids");
  }
  return pid;
}

Result<pid_t> clone_display(const StartDisplay& request, const std::vector<Fd>& fds,
                            const BuilderConfig& config, int proc) {
  Result<std::string> bytes =
      read_file(proc, ("self/fd/" + std::to_string(config.display_filter)).c_str());
  if (!bytes) return std::move(bytes.error()).during("reading the filter");
  Result<std::vector<sock_filter>> filter = jail::filter_from_bytes(*bytes);
  if (!filter) return std::move(filter.error());
  constexpr std::uint64_t kNamespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;
  const std::size_t group = request.has_helper ? 3 : 2;
  jail::Sys sys(request.fail_at);
  const pid_t pid =
      sys(clone_process, CLONE_PARENT | kNamespaces, request.has_cgroup ? fds[group].get() : -1);
  if (pid < 0) return Error::from_errno("cloning a display");
  if (pid == 0) {
    sys.skip(kMaps);
    run_display(request, fds, config, *filter, sys);
  }
  const std::uint32_t outside = config.ids.count > 1 ? 1 + slots_of(config.ids) + request.slot : 0;
  if (Status s = map_ids(sys, proc, pid, jail::kDisplayId, outside, 1); !s) {
    ::kill(pid, SIGKILL);  // a child of the keeper, which reaps it; it never saw GO
    return std::move(s.error()).during("mapping its ids");
  }
  return pid;
}

Result<pid_t> clone_zygote(const StartZygote& request, const std::vector<Fd>& fds) {
  const pid_t pid =
      clone_process(CLONE_PARENT | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET);
  if (pid < 0) return Error::from_errno("cloning a zygote");
  if (pid == 0) run_zygote(request, fds);
  return pid;
}

Result<Fd> listen_inside(int init, std::uint16_t port, int proc) {
  const Fd own(::openat(proc, "self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!own) return Error::from_errno("opening the own network namespace");
  if (::setns(init, CLONE_NEWNET) != 0)
    return Error::from_errno("entering a session's network namespace");
  Result<Fd> listener = listen_on_loopback(port);
  // A builder that has made no shell yet is in the host's, and may not go back there.
  if (::setns(own.get(), CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWNET) != 0) ::_exit(125);
  return listener;
}

}  // namespace vitrine::keeper
