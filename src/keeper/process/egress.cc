// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/egress.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/packet.h"
#include "keeper/log.h"
#include "wire/egress.h"

namespace vitrine::keeper {

namespace {

constexpr std::uint32_t kMaxStarts = 5;

// A file of fixed size that nobody can shrink under a reader.
Result<Fd> make_counters() {
  Fd file(::memfd_create("egress", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), sizeof(wire::EgressCounter) * wire::kEgressCounters) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Error::from_errno("making a proxy's counters");
  return file;
}

// Everything that is in the pipe before the proxy starts: far less than a pipe holds.
Result<Fd> make_setup(const wire::EgressSetup& setup) {
  Result<FdPair> pipe = make_pipe();
  if (!pipe) return std::move(pipe.error());
  const std::string bytes = wire::encode_egress_setup(setup);
  if (Status s = set_nonblocking(pipe->second.get()); !s) return std::move(s.error());
  if (::write(pipe->second.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return Error::from_errno("telling a proxy its rules");
  return std::move(pipe->first);
}

struct Child {
  int listener;
  int line;
  int setup;
  int counters;
  int program;
  std::optional<uid_t> user;
  const jail::CgroupEntrance* entrance;  // null = the keeper moves it
};

bool enter_cgroups(const jail::CgroupEntrance& entrance) {
  if (entrance.into) {
    const int join_fd = ::openat(entrance.into.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (join_fd < 0 || ::write(join_fd, "0", 1) != 1) return false;
  }
  for (const Fd& join_fd : entrance.join_fds)
    if (::write(join_fd.get(), "0", 1) != 1) return false;
  return true;
}

// Only system calls: the keeper's memory is a copy.
[[noreturn]] void become_proxy(const Child& child) {
  if (child.entrance != nullptr && !enter_cgroups(*child.entrance)) ::_exit(125);
  const int null = ::open("/dev/null", O_RDWR);
  constexpr int kProgram = kProxyCounters + 1;
  const std::array places{std::pair{child.listener, kProxyListener},
                          std::pair{child.line, kProxyLine}, std::pair{child.setup, kProxySetup},
                          std::pair{child.counters, kProxyCounters}};
  std::array<int, 4> high{};
  for (std::size_t i = 0; i < places.size(); ++i)
    if ((high[i] = ::fcntl(places[i].first, F_DUPFD_CLOEXEC, 100)) < 0) ::_exit(125);
  const int program = ::fcntl(child.program, F_DUPFD_CLOEXEC, 100);
  if (null < 0 || program < 0) ::_exit(125);
  for (int fd : {0, 1, 2})
    if (::dup2(null, fd) < 0) ::_exit(125);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (::dup2(high[i], places[i].second) < 0) ::_exit(125);
  if (::dup3(program, kProgram, O_CLOEXEC) < 0 ||
      ::syscall(SYS_close_range, kProgram + 1, ~0U, 0) != 0)
    ::_exit(125);
  ::setsid();
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (child.user && (::setresgid(*child.user, *child.user, *child.user) != 0 ||
                     ::setresuid(*child.user, *child.user, *child.user) != 0))
    ::_exit(125);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    ::_exit(125);
  static char name[] = "vitrine-egress";
  char* argv[] = {name, nullptr};
  char* envp[] = {nullptr};
  ::syscall(SYS_execveat, kProgram, "", argv, envp, AT_EMPTY_PATH);
  ::_exit(127);
}

}  // namespace

Status Egress::prepare() {
  if (!config_.on) return ok();
  program_ = Fd(::open(config_.program.c_str(), O_PATH | O_CLOEXEC));
  if (!program_)
    return Error::from_errno("opening vitrine-egress")
        .with_remedy("build it: ./dev build, or start with --egress off");
  return ok();
}

Status Egress::check(const Network& network) const {
  if (!config_.on)
    return Error{.code = Code::unsupported,
                 .message = "network: this server lets no session out",
                 .remedy = "leave `network` out; its operator can allow it with --egress on"};
  return network.validate();
}

void Egress::open(Shell& shell, const Network& network, Opened opened) {
  auto proxy = std::make_shared<std::unique_ptr<Proxy>>(std::make_unique<Proxy>());
  (*proxy)->network = network;
  (*proxy)->shell = &shell;
  Result<FdPair> line = make_socketpair();
  Result<Fd> counters = make_counters();
  if (!line || !counters) {
    Error error = !line ? std::move(line.error()) : std::move(counters.error());
    return static_cast<void>(
        loop_.after({}, [opened = std::move(opened), error = std::move(error)] { opened(error); }));
  }
  (*proxy)->line = std::move(line->first);
  (*proxy)->far_end = std::move(line->second);
  (*proxy)->counters = std::move(*counters);
  shells_.listen(shell, kProxyPort, [this, proxy, opened = std::move(opened)](Result<Fd> listener) {
    if (!listener) return opened(std::move(listener.error()).as_ours().during("network"));
    (*proxy)->listener = std::move(*listener);
    if (Status s = spawn(**proxy); !s)
      return opened(std::move(s.error()).as_ours().during("network"));
    opened(std::move(*proxy));
  });
}

Status Egress::spawn(Proxy& proxy) {
  std::vector<std::string> reachable = config_.private_;
  if (proxy.network.index)
    reachable.insert(reachable.end(), config_.index.begin(), config_.index.end());
  Result<Fd> setup = make_setup({.allow = proxy.network.allow,
                                 .private_ = reachable,
                                 .gate = proxy.network.gateway_port,
                                 .starts = proxy.starts});
  if (!setup) return std::move(setup.error());
  jail::CgroupEntrance entrance;
  const bool grouped = proxy.shell->cgroup.has_value();
  const bool by_itself = grouped && shells_.delegated();
  if (by_itself) {
    Result<jail::CgroupEntrance> opened =
        proxy.shell->cgroup->open_entrance(jail::Cgroup::Member::init);
    if (!opened) return std::move(opened.error());
    entrance = std::move(*opened);
  }
  std::optional<uid_t> user;
  if (config_.first_user) user = *config_.first_user + proxy.shell->slot;
  const Child child{.listener = proxy.listener.get(),
                    .line = proxy.far_end.get(),
                    .setup = setup->get(),
                    .counters = proxy.counters.get(),
                    .program = program_.get(),
                    .user = user,
                    .entrance = by_itself ? &entrance : nullptr};
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno("forking a proxy");
  if (pid == 0) become_proxy(child);
  ++proxy.starts;
  ++alive_;
  proxy.pid = pid;
  Proxy* here = &proxy;
  reaper_.watch(pid, [this, here](Ending) {
    --alive_;
    died(*here);
  });
  if (grouped && !by_itself)
    if (Status s = proxy.shell->cgroup->join_init(pid); !s) {
      proxy.starts = kMaxStarts;
      reaper_.watch(pid, [this](Ending) { --alive_; });
      reaper_.signal(pid, SIGKILL);
      return s;
    }
  return ok();
}

void Egress::died(Proxy& proxy) {
  proxy.pid = -1;
  if (proxy.starts < kMaxStarts) {
    log_warning("the network proxy of a session died; starting another");
    if (Status s = spawn(proxy)) return;
    else log_error(s.error().describe());
  }
  log_warning("the network proxy of a session is not started again");
  (void)send_packet(proxy.far_end.get(), wire::encode_egress(wire::ProxyGone{}), {}, Wait::dont);
  proxy.listener.reset();
}

void Egress::close(std::unique_ptr<Proxy> proxy, std::function<void()> gone) {
  const int pid = proxy->pid;
  if (pid < 0) {
    if (gone) loop_.after({}, std::move(gone));
    return;
  }
  reaper_.watch(pid, [this, gone = std::move(gone)](Ending) {
    --alive_;
    if (gone) gone();
  });
  reaper_.signal(pid, SIGKILL);
}

}  // namespace vitrine::keeper
