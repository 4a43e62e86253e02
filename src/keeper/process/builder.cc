// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/builder.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <utility>

#include "base/packet.h"
#include "keeper/process/builder_loop.h"
#include "keeper/process/clone.h"
#include "keeper/process/staging.h"

namespace vitrine::keeper {

namespace {

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

[[noreturn]] void run_outer_init(int init_program) {
  static char name[] = "outer-init";
  char* argv[] = {name, nullptr};
  char* envp[] = {nullptr};
  ::syscall(SYS_execveat, init_program, "", argv, envp, AT_EMPTY_PATH);
  ::_exit(125);
}

Result<pid_t> start_outer_init(const BuilderConfig& config) {
  if (::unshare(CLONE_NEWNS) != 0) return Error::from_errno("making a mount namespace");
  if (Status s = prepare_staging(config); !s) return std::move(s.error());
  // The builder stays outside; what it clones from now on is inside.
  if (::unshare(CLONE_NEWPID) != 0) return Error::from_errno("making a pid namespace");
  const pid_t pid = clone_process(CLONE_PARENT);
  if (pid < 0) return Error::from_errno("cloning the outer init");
  if (pid == 0) run_outer_init(config.init_program);
  return pid;
}

// What is cloned after this process joined the outer pid namespace is inside it; the process itself
// is not, and what is not inside may not make further ones. So the builder is a clone, and this
// process ends.
[[noreturn]] void hand_over(const BuilderConfig& config, int control) {
  const pid_t pid = clone_process(CLONE_PARENT);
  if (pid < 0) report(control, Error::from_errno("cloning the builder"));
  if (pid == 0) serve_builds(config, control);
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
  Result<pid_t> outer_init = start_outer_init(config);
  if (!outer_init) report(control, std::move(outer_init.error()));
  (void)send_packet(control, "outer_init " + std::to_string(*outer_init));
  hand_over(config, control);
}

[[noreturn]] void rejoin_and_build(const BuilderConfig& config, int control, int outer_init) {
  wait_for_keeper(control);
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, outer_init, 0)));
  if (!pidfd || ::setns(pidfd.get(), CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0)
    report(control, Error::from_errno("joining the outer namespaces"));
  pidfd.reset();
  if (Status s = take_outer_ids(); !s) report(control, std::move(s.error()));
  if (::chdir(kStaging) != 0) report(control, Error::from_errno("entering the staging directory"));
  hand_over(config, control);
}

// In the child: only its own descriptors, ordinary signals.
[[noreturn]] void start_child(const BuilderConfig& config, int socket, int outer_init) {
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
  if (outer_init >= 0) rejoin_and_build(inside, control, outer_init);
  lay_and_build(inside, control);
}

}  // namespace

Result<Builder> start_builder(const BuilderConfig& wanted, int outer_init,
                              const std::function<Status(int pid)>& placed) {
  BuilderConfig config = wanted;
  Fd image;
  Fd runtime;
  Fd layers;
  Fd wheels;
  Fd environments;
  if (outer_init < 0) {  // fails without privilege, which then is not needed either
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
  const pid_t pid = clone_process(outer_init < 0 ? CLONE_NEWUSER : 0);
  if (pid < 0)
    return Error::from_errno("making the outer user namespace")
        .with_remedy(
            "allow user namespaces: sysctl user.max_user_namespaces and, where it exists, "
            "kernel.unprivileged_userns_clone=1 or the AppArmor restriction off");
  if (pid == 0) start_child(config, pair->second.get(), outer_init);
  Builder builder{.pid = -1, .outer_init = outer_init, .control = std::move(pair->first)};
  pair->second.reset();
  // None of them has been reaped, so their numbers are theirs.
  auto abandon = [&](Error error) {
    ::kill(pid, SIGKILL);
    if (builder.pid > 0) ::kill(builder.pid, SIGKILL);
    if (builder.outer_init > 0 && outer_init < 0) ::kill(builder.outer_init, SIGKILL);
    return error;
  };
  if (!receive_packet(builder.control.get(), 16, 0))
    return abandon(Error{Code::unavailable, "the builder died at once"});
  if (Status s = placed(pid); !s) return abandon(std::move(s.error()));
  if (outer_init < 0) {
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
    else if (std::sscanf(said, "outer_init %d", &builder.outer_init) != 1 &&
             std::sscanf(said, "builder %d", &builder.pid) != 1)
      return abandon(Error::unpack(answer->bytes));
  }
  if (Status s = receive_names(builder.control.get()); !s) return abandon(std::move(s.error()));
  return builder;
}

}  // namespace vitrine::keeper
