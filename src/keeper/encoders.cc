// SPDX-License-Identifier: Apache-2.0
#include "keeper/encoders.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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

Result<Fd> Encoders::start(std::uint64_t session) {
  if (!program_)
    return Error{.code = Code::unsupported,
                 .message = "this installation cannot record: it has no vitrine-encoder",
                 .remedy = "build it: ./dev build"};
  if (running_.size() >= kMax)
    return Error{.code = Code::over_limit,
                 .message = "too many displays are being recorded",
                 .remedy = "stop a recording first"};
  Result<FdPair> pair = make_socketpair();
  if (!pair) return std::move(pair.error());
  Result<int> pid = spawn(pair->second.get());
  if (!pid) return std::move(pid.error());
  Encoder& encoder = running_[*pid];
  encoder.session = session;
  encoder.socket = std::move(pair->second);
  const Status watched =
      loop_.watch(encoder.socket.get(), EPOLLRDHUP, [this, pid = *pid](std::uint32_t) {
        if (const auto found = running_.find(pid); found != running_.end())
          ask_to_end(pid, found->second);
      });
  encoder.watched = static_cast<bool>(watched);
  reaper_.watch(*pid, [this, pid = *pid](Ending ending) {
    cpu_of_ended_ += ending.cpu;
    unwatch(running_[pid]);
    running_.erase(pid);
    if (ending.signalled)
      log_warning("an encoder was ended by signal " + std::to_string(ending.code));
  });
  if (!watched) {  // nobody would end it
    reaper_.signal(*pid, SIGKILL);
    return Error{Code::internal, "an encoder cannot be watched"};
  }
  return std::move(pair->first);
}

void Encoders::unwatch(Encoder& encoder) {
  if (std::exchange(encoder.watched, false)) loop_.unwatch(encoder.socket.get());
}

std::chrono::microseconds Encoders::cpu_time() const {
  std::chrono::microseconds sum = cpu_of_ended_;
  for (const auto& [pid, encoder] : running_) {
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(pid, &clock) == 0 && ::clock_gettime(clock, &used) == 0)
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
  for (auto& [pid, encoder] : running_)
    if (encoder.session == session) ask_to_end(pid, encoder);
}

void Encoders::stop() {
  for (auto& [pid, encoder] : running_) ask_to_end(pid, encoder);
}

void Encoders::ask_to_end(int pid, Encoder& encoder) {
  if (encoder.ending) return;
  encoder.ending = true;
  unwatch(encoder);
  ::shutdown(encoder.socket.get(), SHUT_RD);
  loop_.after(kEndTime, [this, pid, session = encoder.session] {
    const auto found = running_.find(pid);
    if (found == running_.end() || found->second.session != session) return;
    log_warning("an encoder did not end in time and is killed");
    reaper_.signal(pid, SIGKILL);
  });
}

}  // namespace vitrine::keeper
