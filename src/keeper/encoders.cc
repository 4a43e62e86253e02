// SPDX-License-Identifier: Apache-2.0
#include "keeper/encoders.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <utility>

#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

constexpr int kControl = 3;
constexpr int kProgram = 4;

constexpr int kNice = 10;

}  // namespace

Result<std::uint64_t> Encoders::start(std::uint64_t session, std::uint64_t owner) {
  if (!program_)
    return Error{.code = Code::unsupported,
                 .message = "this installation cannot record: it has no vitrine-encoder",
                 .remedy = "build it: ./dev build"};
  if (count() >= kMax)
    return Error{.code = Code::over_limit,
                 .message = "too many displays are being recorded",
                 .remedy = "stop a recording first"};
  Result<FdPair> pair = make_socketpair();
  if (!pair) return std::move(pair.error());
  Result<int> pid = spawn(pair->second.get());
  if (!pid) return std::move(pid.error());
  const std::uint64_t id = ++last_id_;
  Encoder& encoder = encoders_[id];
  encoder.session = session;
  encoder.owner = owner;
  encoder.pid = *pid;
  encoder.front = std::move(pair->first);
  encoder.socket = std::move(pair->second);
  const Status watched = loop_.watch(encoder.socket.get(), EPOLLRDHUP, [this, id](std::uint32_t) {
    if (const auto found = encoders_.find(id); found != encoders_.end())
      ask_to_end(id, found->second);
  });
  encoder.watched = static_cast<bool>(watched);
  reaper_.watch(*pid, [this, id](Ending ending) { ended(id, ending); });
  if (!watched) {  // nobody would end it
    reaper_.signal(*pid, SIGKILL);
    return Error{Code::internal, "an encoder cannot be watched"};
  }
  return id;
}

void Encoders::ended(std::uint64_t id, const Ending& ending) {
  Encoder& encoder = encoders_.at(id);
  cpu_of_ended_ += ending.cpu;
  unwatch(encoder);
  encoder.pid = -1;
  encoder.socket.reset();  // so that whoever reads on comes to an end
  if (ending.signalled)
    log_warning("an encoder was ended by signal " + std::to_string(ending.code));
  loop_.after(kOrphanTime, [this, id] { encoders_.erase(id); });
}

Status Encoders::adopt(std::uint64_t id, std::uint64_t owner) {
  const auto found = encoders_.find(id);
  if (found == encoders_.end())
    return Error{.code = Code::not_found, .message = "there is no such encoder"};
  found->second.owner = owner;
  return ok();
}

void Encoders::owner_left(std::uint64_t owner) {
  for (const auto& [id, encoder] : encoders_) {
    if (encoder.owner != owner || encoder.pid < 0) continue;
    loop_.after(kOrphanTime, [this, id = id, owner] {
      const auto found = encoders_.find(id);
      if (found != encoders_.end() && found->second.owner == owner) ask_to_end(id, found->second);
    });
  }
}

std::size_t Encoders::count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(encoders_, [](const auto& one) { return one.second.pid > 0; }));
}

void Encoders::unwatch(Encoder& encoder) {
  if (std::exchange(encoder.watched, false)) loop_.unwatch(encoder.socket.get());
}

std::chrono::microseconds Encoders::cpu_time() const {
  std::chrono::microseconds sum = cpu_of_ended_;
  for (const auto& [id, encoder] : encoders_) {
    clockid_t clock{};
    timespec used{};
    if (encoder.pid > 0 && ::clock_getcpuclockid(encoder.pid, &clock) == 0 &&
        ::clock_gettime(clock, &used) == 0)
      sum += std::chrono::microseconds(used.tv_sec * 1'000'000 + used.tv_nsec / 1000);
  }
  return sum;
}

Result<int> Encoders::spawn(int socket) {
  // Prepared before the fork: the child only makes system calls.
  char name[] = "vitrine-encoder";
  char* argv[] = {name, nullptr};
  char locale[] = "LANG=C.UTF-8";
  char* envp[] = {locale, nullptr};
  const pid_t keeper = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno("forking an encoder");
  if (pid > 0) return pid;
  const int control = ::fcntl(socket, F_DUPFD_CLOEXEC, 100);
  const int program = ::fcntl(program_.get(), F_DUPFD_CLOEXEC, 100);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (control < 0 || program < 0 || nothing < 0 || ::dup2(nothing, 0) < 0 ||
      ::dup2(nothing, 1) < 0 || ::dup2(control, kControl) < 0 ||
      ::dup3(program, kProgram, O_CLOEXEC) < 0)
    ::_exit(125);
  ::syscall(SYS_close_range, kProgram + 1, ~0U, 0);
  ::setsid();
  ::setpriority(PRIO_PROCESS, 0, kNice);  // films may wait; who asks the front should not
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (user_ &&
      (::setresgid(*user_, *user_, *user_) != 0 || ::setresuid(*user_, *user_, *user_) != 0))
    ::_exit(125);
  // After the change of ids, which the kernel takes as a reason to forget it.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || ::getppid() != keeper)
    ::_exit(125);
  ::syscall(SYS_execveat, kProgram, "", argv, envp, AT_EMPTY_PATH);
  ::_exit(127);
}

void Encoders::end(std::uint64_t session) {
  for (auto& [id, encoder] : encoders_)
    if (encoder.session == session) ask_to_end(id, encoder);
}

void Encoders::stop() {
  for (auto& [id, encoder] : encoders_) ask_to_end(id, encoder);
}

void Encoders::ask_to_end(std::uint64_t id, Encoder& encoder) {
  if (encoder.ending || encoder.pid < 0) return;
  encoder.ending = true;
  unwatch(encoder);
  ::shutdown(encoder.socket.get(), SHUT_RD);
  loop_.after(kEndTime, [this, id] {
    const auto found = encoders_.find(id);
    if (found == encoders_.end() || found->second.pid < 0) return;
    log_warning("an encoder did not end in time and is killed");
    reaper_.signal(found->second.pid, SIGKILL);
  });
}

}  // namespace vitrine::keeper
