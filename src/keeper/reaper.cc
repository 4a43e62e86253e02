// SPDX-License-Identifier: Apache-2.0
#include "keeper/reaper.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace vitrine::keeper {

namespace {

constexpr std::size_t kMaxEarly = 4096;
constexpr auto kEarlyLife = std::chrono::seconds(5);  // then the number may be somebody else's

std::chrono::microseconds to_microseconds(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

Status Reaper::start(Loop& loop) {
  loop_ = &loop;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return Error::from_errno("blocking SIGCHLD");
  signals_ = Fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals_) return Error::from_errno("making a signalfd");
  return loop.watch(signals_.get(), EPOLLIN, [this](std::uint32_t) { reap(); });
}

void Reaper::watch(int pid, std::function<void(Ending)> ended) {
  Child& child = children_[pid];
  child.ended = std::move(ended);
  auto found = early_.find(pid);
  if (found == early_.end()) return;
  const Early early = found->second;
  early_.erase(found);
  if (Clock::now() - early.when >= kEarlyLife) return;
  child.ending = early.ending;
  loop_->after({}, [this, pid] { tell(pid); });
}

void Reaper::tell(int pid) {
  auto found = children_.find(pid);
  if (found == children_.end() || !found->second.ending) return;
  const Child child = std::move(found->second);
  children_.erase(found);
  child.ended(*child.ending);
}

bool Reaper::signal(int pid, int signal) const {
  auto found = children_.find(pid);
  return found != children_.end() && !found->second.ending && ::kill(pid, signal) == 0;
}

bool Reaper::signal(int pid, int signal, std::uint32_t value) const {
  auto found = children_.find(pid);
  if (found == children_.end() || found->second.ending) return false;
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_int = static_cast<int>(value);
  // To the main thread: any other that got one of two signals would change their order.
  return ::syscall(SYS_rt_tgsigqueueinfo, pid, pid, signal, &info) == 0;
}

void Reaper::reap() {
  std::array<signalfd_siginfo, 16> ignored;
  while (::read(signals_.get(), ignored.data(), sizeof ignored) == sizeof ignored) {
  }
  for (;;) {
    siginfo_t info{};
    rusage used{};  // the library's waitid() does not tell it
    if (::syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG, &used) != 0 || info.si_pid == 0)
      return;
    const Ending ending{.signalled = info.si_code != CLD_EXITED,
                        .code = info.si_status,
                        .cpu = to_microseconds(used.ru_utime) + to_microseconds(used.ru_stime)};
    auto found = children_.find(info.si_pid);
    if (found == children_.end()) {
      if (early_.size() >= kMaxEarly) early_.clear();
      early_[info.si_pid] = {ending, Clock::now()};
      continue;
    }
    found->second.ending = ending;
    tell(info.si_pid);
  }
}

}  // namespace vitrine::keeper
