// SPDX-License-Identifier: Apache-2.0
#include "keeper/front.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>

#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::milliseconds kStopGrace{10'000};
constexpr std::uint32_t kMaxStartFailures = 6;  // of the first front; later ones are tried for ever
constexpr int kRefused = 2;                     // its exit code when it was told nonsense

std::pair<std::string, std::string> split_address(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return {listen, "8000"};
  std::string host = listen.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  return {host, listen.substr(colon + 1)};
}

std::string name_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST] = {};
  char port[NI_MAXSERV] = {};
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "";
  const bool v6 = address.ss_family == AF_INET6;
  return (v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
}

}  // namespace

Status Front::bind() {
  const auto [host, port] = split_address(config_.listen);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string remedy = "--listen takes a numeric address and a port, such as 127.0.0.1:8000";
  if (::getaddrinfo(host == "localhost" ? "127.0.0.1" : host.c_str(), port.c_str(), &hints,
                    &found) != 0)
    return Error{.code = Code::invalid_argument,
                 .message = "cannot listen on '" + config_.listen + "'",
                 .remedy = remedy};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, ::freeaddrinfo);
  Fd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (!socket) return Error::from_errno("making the listening socket");
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0)
    return Error::from_errno("listening on " + config_.listen)
        .with_remedy("stop what uses that port, or choose another with --listen");
  if (::listen(socket.get(), 1024) != 0) return Error::from_errno("listening");
  listener_ = std::move(socket);
  address_ = name_of(listener_.get());
  return ok();
}

Status Front::prepare_data() {
  if (::mkdir(config_.data.c_str(), 0700) != 0 && errno != EEXIST)
    return Error::from_errno("making the data directory")
        .with_remedy("name one that can be made with --data");
  Fd directory(::open(config_.data.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!directory || ::fstat(directory.get(), &info) != 0)
    return Error::from_errno("opening the data directory");
  if ((info.st_mode & 077) != 0 && ::fchmod(directory.get(), 0700) != 0)
    return Error::from_errno("closing the data directory to others");
  if (config_.user && info.st_uid != *config_.user &&
      ::fchown(directory.get(), *config_.user, *config_.user) != 0)
    return Error::from_errno("handing the data directory to the front");
  return check_reachable();
}

// The way there, walked as the front: it has no privilege to pass a directory that is closed to it.
Status Front::check_reachable() const {
  if (!config_.user) return ok();
  ::setfsgid(*config_.user);
  ::setfsuid(*config_.user);
  Fd directory(::open(config_.data.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int error = errno;
  ::setfsuid(::geteuid());
  ::setfsgid(::getegid());
  if (directory) return ok();
  return Error::from_errno(
             "reaching the data directory as the front, which has a user id of its own,", error)
      .with_remedy(
          "name one with --data that others may reach, such as /var/lib/vitrine, or let them "
          "through "
          "(chmod o+x) every directory above it");
}

std::chrono::milliseconds restart_pause(std::uint32_t failures) {
  constexpr std::uint32_t kFirst = 100;
  constexpr std::uint32_t kLongest = 800;
  if (failures == 0) return std::chrono::milliseconds(0);
  return std::chrono::milliseconds(std::min(kFirst << std::min(failures - 1, 8u), kLongest));
}

Status Front::start(std::function<void()> ready, std::function<void(int)> failed) {
  ready_ = std::move(ready);
  failed_ = std::move(failed);
  if (Status s = bind(); !s) return s;
  if (Status s = prepare_data(); !s) return s;
  return spawn();
}

Status Front::spawn() {
  Result<FdPair> pair = make_socketpair();
  if (!pair) return std::move(pair.error());
  Result<FdPair> pipe = make_pipe();
  if (!pipe) return std::move(pipe.error());
  // Prepared before the fork: the child only makes system calls.
  std::vector<std::string> texts{config_.program};
  texts.insert(texts.end(), config_.arguments.begin(), config_.arguments.end());
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
  char locale[] = "LANG=C.UTF-8";
  char* envp[] = {path, locale, nullptr};

  const Fd program(::open(config_.program.c_str(), O_PATH | O_CLOEXEC));
  if (!program) return Error::from_errno("opening the front's program");
  was_ready_ = false;
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno("forking the front");
  if (pid == 0) {
    const int control = ::fcntl(pair->second.get(), F_DUPFD_CLOEXEC, 100);
    const int listener = ::fcntl(listener_.get(), F_DUPFD_CLOEXEC, 100);
    const int ready = ::fcntl(pipe->second.get(), F_DUPFD_CLOEXEC, 100);
    const int high_program = ::fcntl(program.get(), F_DUPFD_CLOEXEC, 100);
    if (control < 0 || listener < 0 || ready < 0 || high_program < 0 ||
        ::dup2(control, kFrontControl) < 0 || ::dup2(listener, kFrontListener) < 0 ||
        ::dup2(ready, kFrontReady) < 0 || ::dup3(high_program, kFrontReady + 1, O_CLOEXEC) < 0)
      ::_exit(125);
    ::syscall(SYS_close_range, kFrontReady + 2, ~0U, 0);
    ::setsid();  // Ctrl-C in the keeper's terminal is for the keeper, which lets us finish
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (config_.user && (::setresgid(*config_.user, *config_.user, *config_.user) != 0 ||
                         ::setresuid(*config_.user, *config_.user, *config_.user) != 0))
      ::_exit(125);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
      ::_exit(125);
    // Opened before: the front's own id may have no way to where the program lies.
    ::syscall(SYS_execveat, kFrontReady + 1, "", argv.data(), envp, AT_EMPTY_PATH);
    ::_exit(127);
  }
  pid_ = pid;
  reaper_.watch(pid, [this](Ending ending) { died(ending); });
  control_.add(std::move(pair->first));
  if (ready_pipe_) loop_.unwatch(ready_pipe_.get());
  ready_pipe_ = std::move(pipe->first);
  (void)set_nonblocking(ready_pipe_.get());
  return loop_.watch(ready_pipe_.get(), EPOLLIN, [this](std::uint32_t) { became_ready(); });
}

void Front::became_ready() {
  char byte = 0;
  const bool told = ::read(ready_pipe_.get(), &byte, 1) == 1;
  loop_.unwatch(ready_pipe_.get());
  ready_pipe_.reset();
  if (!told) return;
  was_ready_ = true;
  failures_ = 0;
  if (ready_) std::exchange(ready_, {})();
}

void Front::died(Ending ending) {
  pid_ = -1;
  if (stopping_) {
    if (stopped_) std::exchange(stopped_, {})();
    return;
  }
  // Its word may still lie in the pipe: both can come in one turn of the loop.
  if (ready_pipe_) became_ready();
  failures_ = was_ready_ ? 0 : failures_ + 1;
  if (ready_ && !ending.signalled && ending.code == kRefused) {
    log_error("the front refuses its settings; its reasons are above");
    return failed_(kRefused);
  }
  if (ready_ && !ending.signalled && failures_ >= kMaxStartFailures) {
    log_error("the front does not start; its reasons are above");
    return failed_(1);
  }
  log_warning(std::string("the front ") +
              (ending.signalled ? "was ended by signal " : "exited with status ") +
              std::to_string(ending.code) + "; starting another");
  start_again();
}

void Front::start_again() {
  loop_.after(restart_pause(failures_), [this] {
    if (stopping_) return;
    ++restarts_;
    Status started = spawn();
    if (started) return;
    log_error(started.error().describe());
    ++failures_;
    start_again();
  });
}

void Front::stop(std::function<void()> stopped) {
  stopping_ = true;
  stopped_ = std::move(stopped);
  if (pid_ < 0) return std::exchange(stopped_, {})();
  reaper_.signal(pid_, SIGTERM);
  loop_.after(kStopGrace, [this] {
    if (pid_ > 0) reaper_.signal(pid_, SIGKILL);
  });
}

}  // namespace vitrine::keeper
