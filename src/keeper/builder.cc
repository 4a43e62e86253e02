// SPDX-License-Identifier: Apache-2.0
#include "keeper/builder.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/packet.h"
#include "jail/seccomp.h"
#include "keeper/layers.h"
#include "wire/codec.h"

namespace vitrine::keeper {

namespace {

enum class Verb : std::uint8_t {
  build_shell = 1,
  start_zygote = 2,
  listen_inside = 3,
  start_display = 4,
  add_layer = 5,
};

constexpr int kAbove = 200;  // descriptors that survive a sweep of the lower ones are moved here

constexpr const char* kStaging = "/tmp";  // in the builder's own mount namespace only

// fork(2) with namespace flags; the child's glibc state is only good for system calls and exec.
pid_t clone_process(std::uint64_t flags, int cgroup = -1) {
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

Status write_map(jail::Sys& sys, int proc, pid_t pid, const char* map, const std::string& text) {
  const std::string path = std::to_string(pid) + "/" + map;
  if (sys.fails()) return Error::from_errno(std::string("writing ") + map);
  return write_file(proc, path.c_str(), text);
}

constexpr std::uint32_t kMaps = 3;  // writes of map_ids

// `proc` is a directory of a /proc that numbers processes as the caller does.
Status map_ids(jail::Sys& sys, int proc, pid_t pid, unsigned inside, std::uint32_t outside,
               std::uint32_t count) {
  const std::string line =
      std::to_string(inside) + " " + std::to_string(outside) + " " + std::to_string(count) + "\n";
  if (Status s = write_map(sys, proc, pid, "setgroups", "deny"); !s) return s;
  if (Status s = write_map(sys, proc, pid, "uid_map", line); !s) return s;
  return write_map(sys, proc, pid, "gid_map", line);
}

// A layer, opened in this mount namespace: a descriptor from another one cannot be bound.
Result<Fd> open_layer(const std::string& path) {
  Fd layer(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!layer)
    return Error::from_errno("opening a layer")
        .with_remedy(
            "let everyone read the image and the runtime, and enter the directories above");
  return layer;
}

Fd clone_tree(const std::string& path) {
  return Fd(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
}

Status attach_tree(int descriptor, const char* target) {
  const Fd tree(descriptor);  // not needed any more
  if (::mkdir(target, 0755) != 0) return Error::from_errno("making a staging directory");
  if (::syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return Error::from_errno("attaching a layer");
  if (::access(target, R_OK | X_OK) != 0)
    return Error::from_errno("reading a layer")
        .with_remedy("let everyone read the image and the runtime");
  return ok();
}

Status bind_layer(const Fd& layer, const char* target) {
  if (::mkdir(target, 0755) != 0) return Error::from_errno("making a staging directory");
  const std::string source = "/proc/self/fd/" + std::to_string(layer.get());
  if (::mount(source.c_str(), target, nullptr, MS_BIND, nullptr) != 0)
    return Error::from_errno("binding a layer");
  return ok();
}

Status prepare_staging(const BuilderConfig& config) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return Error::from_errno("making the mounts private");
  // Before the staging directory covers them.
  const bool as_trees = config.image_tree >= 0 && config.runtime_tree >= 0;
  Result<Fd> image = as_trees ? Fd() : open_layer(config.image);
  if (!image) return std::move(image.error());
  Result<Fd> runtime = as_trees ? Fd() : open_layer(config.runtime);
  if (!runtime) return std::move(runtime.error());
  Result<Fd> layers = as_trees || config.layers.empty() ? Fd() : open_layer(config.layers);
  if (!layers) return std::move(layers.error());
  Result<Fd> wheels = as_trees || config.wheels.empty() ? Fd() : open_layer(config.wheels);
  if (!wheels) return std::move(wheels.error());
  Result<Fd> environments =
      as_trees || config.environments.empty() ? Fd() : open_layer(config.environments);
  if (!environments) return std::move(environments.error());
  if (::mount("staging", kStaging, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755") != 0)
    return Error::from_errno("mounting the staging directory");
  if (::chdir(kStaging) != 0) return Error::from_errno("entering the staging directory");
  if (as_trees) {
    if (Status s = attach_tree(config.image_tree, "image"); !s) return s;
    if (Status s = attach_tree(config.runtime_tree, "runtime"); !s) return s;
    if (config.layers_tree >= 0)
      if (Status s = attach_tree(config.layers_tree, "layers"); !s) return s;
    if (config.wheels_tree >= 0)
      if (Status s = attach_tree(config.wheels_tree, "wheels"); !s) return s;
    if (config.environments_tree >= 0)
      if (Status s = attach_tree(config.environments_tree, "environments"); !s) return s;
  } else {
    if (Status s = bind_layer(*image, "image"); !s) return s;
    if (Status s = bind_layer(*runtime, "runtime"); !s) return s;
    if (*layers)
      if (Status s = bind_layer(*layers, "layers"); !s) return s;
    if (*wheels)
      if (Status s = bind_layer(*wheels, "wheels"); !s) return s;
    if (*environments)
      if (Status s = bind_layer(*environments, "environments"); !s) return s;
  }
  if (::mkdir("root", 0755) != 0 || ::mkdir("proc", 0755) != 0 || ::mkdir("empty", 0755) != 0)
    return Error::from_errno("making a staging directory");
  return ok();
}

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
  if (::sethostname("sandbox", 7) != 0) fail(Error::from_errno("naming the host"));
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

Result<pid_t> clone_zygote(const StartZygote& request, const std::vector<Fd>& fds) {
  const pid_t pid =
      clone_process(CLONE_PARENT | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET);
  if (pid < 0) return Error::from_errno("cloning a zygote");
  if (pid == 0) run_zygote(request, fds);
  return pid;
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

// In the network namespace of the shell whose init is given. This process holds none of them longer
// than it must: a namespace lives as long as somebody is in it.
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

void serve_listener(int control, const Packet& packet, std::uint64_t what, std::uint16_t port,
                    int proc) {
  Result<Fd> listener = packet.fds.size() == 1
                            ? listen_inside(packet.fds[0].get(), port, proc)
                            : Error{Code::invalid_argument, "no shell was named"};
  wire::Writer out;
  out.u64(what).u8(listener ? 1 : 0).bytes(listener ? "" : listener.error().pack());
  const std::vector<int> fds = listener ? std::vector<int>{listener->get()} : std::vector<int>{};
  if (!send_packet(control, out.take(), fds)) ::_exit(0);
}

void serve_one(int control, const Packet& packet, const BuilderConfig& config, int proc) {
  wire::Reader in(packet.bytes);
  const Verb verb{in.u8()};
  const std::uint64_t what = in.u64();
  if (verb == Verb::listen_inside) return serve_listener(control, packet, what, in.u16(), proc);
  Result<pid_t> pid = Error{Code::invalid_argument, "unknown verb"};
  if (verb == Verb::build_shell) {
    BuildShell request{.shell = what};
    request.slot = in.u32();
    request.disk_bytes = in.u64();
    request.inodes = in.u64();
    request.fail_at = in.u32();
    request.has_cgroup = in.u8() != 0;
    if (in.complete() && packet.fds.size() >= (request.has_cgroup ? 2u : 1u))
      pid = clone_shell(request, packet.fds, config, proc);
  } else if (verb == Verb::start_zygote) {
    StartZygote request{.zygote = what};
    for (std::uint32_t n = in.u32(); n > 0 && !in.failed(); --n) request.argv.push_back(in.text());
    for (std::uint32_t n = in.u32(); n > 0 && !in.failed(); --n)
      request.environment.push_back(in.text());
    request.packages = in.text();
    if (in.complete() && packet.fds.size() == 3) pid = clone_zygote(request, packet.fds);
  } else if (verb == Verb::add_layer) {
    const std::string layer = in.text();
    const std::string environment = in.text();
    if (in.complete() && packet.fds.size() == 1) {
      Status mounted = mount_layer(layer, environment, packet.fds[0].get());
      if (mounted) pid = ::getpid();
      else pid = std::move(mounted.error());
    }
  }
  if (verb == Verb::start_display) {
    StartDisplay request{.display = what};
    request.slot = in.u32();
    request.geometry.width = in.u32();
    request.geometry.height = in.u32();
    for (std::uint8_t& byte : request.cookie) byte = in.u8();
    request.fail_at = in.u32();
    request.has_helper = in.u8() != 0;
    request.has_cgroup = in.u8() != 0;
    const std::size_t least = 2u + (request.has_helper ? 1u : 0u) + (request.has_cgroup ? 1u : 0u);
    if (in.complete() && packet.fds.size() >= least)
      pid = clone_display(request, packet.fds, config, proc);
  }
  wire::Writer out;
  out.u64(what).u8(pid ? 1 : 0).bytes(pid ? "" : pid.error().pack());
  const std::string answer = out.take();
  if (send_naming(control, answer, pid ? *pid : ::getpid())) return;
  // The child may be dead and reaped: then its number names nobody.
  wire::Writer lost;
  lost.u64(what).u8(0).bytes(Error{Code::unavailable, "it died at once"}.pack());
  if (!send_packet(control, lost.take())) ::_exit(0);
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

// The builder itself: inside the outer namespaces, a child of the keeper.
[[noreturn]] void serve(const BuilderConfig& config, int control) {
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
    serve_one(control, *packet, config, proc.get());
  }
}

[[noreturn]] void report(int control, Error error) {
  (void)send_packet(control, std::move(error).during("builder").pack());
  ::_exit(125);
}

Status take_outer_ids() {
  if (::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0)
    return Error::from_errno("taking the outer ids");
  // Changing ids made it undumpable, and nobody could write the id maps of its children.
  if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) return Error::from_errno("becoming dumpable");
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return Error::from_errno("asking to die with the keeper");
  return ok();
}

[[noreturn]] void run_foundation(int init_program) {
  static char name[] = "foundation";
  char* argv[] = {name, nullptr};
  char* envp[] = {nullptr};
  ::syscall(SYS_execveat, init_program, "", argv, envp, AT_EMPTY_PATH);
  ::_exit(125);
}

Result<pid_t> lay_foundation(const BuilderConfig& config) {
  if (::unshare(CLONE_NEWNS) != 0) return Error::from_errno("making a mount namespace");
  if (Status s = prepare_staging(config); !s) return std::move(s.error());
  // The builder stays outside; what it clones from now on is inside.
  if (::unshare(CLONE_NEWPID) != 0) return Error::from_errno("making a pid namespace");
  const pid_t pid = clone_process(CLONE_PARENT);
  if (pid < 0) return Error::from_errno("cloning the foundation");
  if (pid == 0) run_foundation(config.init_program);
  return pid;
}

// What is cloned after this process joined the outer pid namespace is inside it; the process itself
// is not, and what is not inside may not make further ones. So the builder is a clone, and this
// process ends.
[[noreturn]] void hand_over(const BuilderConfig& config, int control) {
  const pid_t pid = clone_process(CLONE_PARENT);
  if (pid < 0) report(control, Error::from_errno("cloning the builder"));
  if (pid == 0) serve(config, control);
  (void)send_packet(control, "builder " + std::to_string(pid));
  ::_exit(0);
}

void wait_for_keeper(int control) {
  // The keeper is not dumpable, and so neither is its child: see take_outer_ids().
  if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0 || !send_packet(control, "born")) ::_exit(125);
  if (Result<Packet> go = receive_packet(control, 16, 0); !go) ::_exit(125);
}

[[noreturn]] void lay_and_build(const BuilderConfig& config, int control) {
  wait_for_keeper(control);
  if (Status s = take_outer_ids(); !s) report(control, std::move(s.error()));
  Result<pid_t> foundation = lay_foundation(config);
  if (!foundation) report(control, std::move(foundation.error()));
  (void)send_packet(control, "foundation " + std::to_string(*foundation));
  hand_over(config, control);
}

[[noreturn]] void rejoin_and_build(const BuilderConfig& config, int control, int foundation) {
  wait_for_keeper(control);
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, foundation, 0)));
  if (!pidfd || ::setns(pidfd.get(), CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0)
    report(control, Error::from_errno("joining the outer namespaces"));
  pidfd.reset();
  if (Status s = take_outer_ids(); !s) report(control, std::move(s.error()));
  if (::chdir(kStaging) != 0) report(control, Error::from_errno("entering the staging directory"));
  hand_over(config, control);
}

// In the child: only its own descriptors, ordinary signals.
[[noreturn]] void start_child(const BuilderConfig& config, int socket, int foundation) {
  // The keeper may hold thousands: first out of the way of their places, then down to them.
  constexpr int control = 3;
  BuilderConfig inside = config;
  std::array places{std::pair{socket, control},
                    std::pair{config.init_program, 4},
                    std::pair{config.image_tree, 5},
                    std::pair{config.runtime_tree, 6},
                    std::pair{config.screen_program, 7},
                    std::pair{config.display_filter, 8},
                    std::pair{config.layers_tree, 9},
                    std::pair{config.wheels_tree, 10},
                    std::pair{config.environments_tree, 11}};
  constexpr int kFree = 3 + static_cast<int>(std::tuple_size_v<decltype(places)>);
  for (auto& [from, to] : places)
    if (from >= 0 && (from = ::fcntl(from, F_DUPFD_CLOEXEC, kFree)) < 0) ::_exit(125);
  for (const auto& [from, to] : places)
    if (from < 0 ? close_all(static_cast<unsigned>(to), static_cast<unsigned>(to)) != 0
                 : ::dup3(from, to, O_CLOEXEC) < 0)
      ::_exit(125);
  if (close_all(kFree, ~0U) != 0) ::_exit(125);
  inside.init_program = 4;
  inside.image_tree = config.image_tree < 0 ? -1 : 5;
  inside.runtime_tree = config.runtime_tree < 0 ? -1 : 6;
  inside.screen_program = config.screen_program < 0 ? -1 : 7;
  inside.display_filter = 8;
  inside.layers_tree = config.layers_tree < 0 ? -1 : 9;
  inside.wheels_tree = config.wheels_tree < 0 ? -1 : 10;
  inside.environments_tree = config.environments_tree < 0 ? -1 : 11;
  ::setsid();  // Ctrl-C in the keeper's terminal is for the keeper
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  if (foundation >= 0) rejoin_and_build(inside, control, foundation);
  lay_and_build(inside, control);
}

}  // namespace

Result<Builder> start_builder(const BuilderConfig& wanted, int foundation,
                              const std::function<Status(int pid)>& placed) {
  BuilderConfig config = wanted;
  Fd image;
  Fd runtime;
  Fd layers;
  Fd wheels;
  Fd environments;
  if (foundation < 0) {  // fails without privilege, which then is not needed either
    image = clone_tree(config.image);
    runtime = clone_tree(config.runtime);
    config.image_tree = image.get();
    config.runtime_tree = runtime.get();
    if (!config.layers.empty()) layers = clone_tree(config.layers);
    config.layers_tree = layers.get();
    if (!config.wheels.empty()) wheels = clone_tree(config.wheels);
    config.wheels_tree = wheels.get();
    if (!config.environments.empty()) environments = clone_tree(config.environments);
    config.environments_tree = environments.get();
  }
  Result<FdPair> pair = make_socketpair();
  if (!pair) return std::move(pair.error());
  const pid_t pid = clone_process(foundation < 0 ? CLONE_NEWUSER : 0);
  if (pid < 0)
    return Error::from_errno("making the outer user namespace")
        .with_remedy(
            "allow user namespaces: sysctl user.max_user_namespaces and, where it exists, "
            "kernel.unprivileged_userns_clone=1 or the AppArmor restriction off");
  if (pid == 0) start_child(config, pair->second.get(), foundation);
  Builder builder{.pid = -1, .foundation = foundation, .control = std::move(pair->first)};
  pair->second.reset();
  // None of them has been reaped, so their numbers are theirs.
  auto abandon = [&](Error error) {
    ::kill(pid, SIGKILL);
    if (builder.pid > 0) ::kill(builder.pid, SIGKILL);
    if (builder.foundation > 0 && foundation < 0) ::kill(builder.foundation, SIGKILL);
    return error;
  };
  if (!receive_packet(builder.control.get(), 16, 0))
    return abandon(Error{Code::unavailable, "the builder died at once"});
  if (Status s = placed(pid); !s) return abandon(std::move(s.error()));
  if (foundation < 0) {
    Fd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (struct statfs info{};
        !proc || ::fstatfs(proc.get(), &info) != 0 || info.f_type != PROC_SUPER_MAGIC)
      return abandon(Error{.code = Code::unsupported,
                           .message = "there is no /proc",
                           .remedy = "mount it: mount -t proc proc /proc"});
    jail::Sys sys;
    if (Status s = map_ids(sys, proc.get(), pid, 0, config.ids.first, config.ids.count); !s)
      return abandon(
          std::move(s.error())
              .during("mapping the outer ids")
              .with_remedy("start it as an ordinary user, or as a root with 65536 ids from "
                           "--uid-base on"));
  }
  if (Status s = send_packet(builder.control.get(), "go"); !s) return abandon(std::move(s.error()));
  for (bool ready = false; !ready || builder.pid < 0;) {
    Result<Packet> answer = receive_packet(builder.control.get(), 4096, 0);
    if (!answer) return abandon(Error{Code::unavailable, "the builder died while it started"});
    const char* said = answer->bytes.c_str();
    if (answer->bytes == "ready") ready = true;
    else if (std::sscanf(said, "foundation %d", &builder.foundation) != 1 &&
             std::sscanf(said, "builder %d", &builder.pid) != 1)
      return abandon(Error::unpack(answer->bytes));
  }
  if (Status s = receive_names(builder.control.get()); !s) return abandon(std::move(s.error()));
  return builder;
}

Status send_build_shell(int control, const BuildShell& request, const std::vector<int>& fds) {
  wire::Writer out;
  out.u8(static_cast<std::uint8_t>(Verb::build_shell)).u64(request.shell).u32(request.slot);
  out.u64(request.disk_bytes).u64(request.inodes).u32(request.fail_at);
  out.u8(request.has_cgroup ? 1 : 0);
  return send_packet(control, out.take(), fds, Wait::dont);
}

Status send_start_zygote(int control, const StartZygote& request, int socket, int zygote_filter,
                         int worker_filter) {
  wire::Writer out;
  out.u8(static_cast<std::uint8_t>(Verb::start_zygote)).u64(request.zygote);
  for (const auto* list : {&request.argv, &request.environment}) {
    out.u32(static_cast<std::uint32_t>(list->size()));
    for (const std::string& text : *list) out.bytes(text);
  }
  out.bytes(request.packages);
  return send_packet(control, out.take(), {socket, zygote_filter, worker_filter}, Wait::dont);
}

Status send_add_layer(int control, const AddLayer& request, int init) {
  wire::Writer out;
  out.u8(static_cast<std::uint8_t>(Verb::add_layer)).u64(request.request).bytes(request.layer);
  out.bytes(request.environment);
  return send_packet(control, out.take(), {init}, Wait::dont);
}

Status send_listen_inside(int control, const ListenInside& request, int init) {
  wire::Writer out;
  out.u8(static_cast<std::uint8_t>(Verb::listen_inside)).u64(request.what).u16(request.port);
  return send_packet(control, out.take(), {init}, Wait::dont);
}

Status send_start_display(int control, const StartDisplay& request, const std::vector<int>& fds) {
  wire::Writer out;
  out.u8(static_cast<std::uint8_t>(Verb::start_display)).u64(request.display).u32(request.slot);
  out.u32(request.geometry.width).u32(request.geometry.height);
  for (const std::uint8_t byte : request.cookie) out.u8(byte);
  out.u32(request.fail_at).u8(request.has_helper ? 1 : 0).u8(request.has_cgroup ? 1 : 0);
  return send_packet(control, out.take(), fds, Wait::dont);
}

Result<Cloned> receive_cloned(int control) {
  Result<Packet> packet = receive_packet(control, 4096, 1, Wait::dont);
  if (!packet) return std::move(packet.error());
  wire::Reader in(packet->bytes);
  Cloned cloned{.what = in.u64()};
  if (in.u8() == 1) cloned.pid = packet->pid;
  if (!packet->fds.empty()) cloned.listener = std::move(packet->fds[0]);
  const std::string error = in.text();
  if (cloned.pid < 0) cloned.error = Error::unpack(error);
  if (!in.complete()) return Error{Code::internal, "the builder answered nonsense"};
  return cloned;
}

}  // namespace vitrine::keeper
