// SPDX-License-Identifier: Apache-2.0
#include "keeper/tokens.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::seconds kLongest{10};

}  // namespace

void Tokens::read_again() {
  if (pid_ > 0) return static_cast<void>(once_more_ = true);
  // Prepared before the fork: the child only makes system calls.
  std::array<std::string, 6> words{config_.program, "read-tokens", "--tokens",
                                   config_.file,    "--data",      config_.data};
  std::array<char*, 7> argv{};
  for (std::size_t i = 0; i < words.size(); ++i) argv[i] = words[i].data();
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
  char locale[] = "LANG=C.UTF-8";
  char* envp[] = {path, locale, nullptr};
  const pid_t pid = ::fork();
  if (pid < 0)
    return log_error("the tokens are not read again: " + Error::from_errno("fork").message);
  if (pid == 0) {
    ::syscall(SYS_close_range, 3, ~0U, 0);
    ::setsid();
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
      ::_exit(125);
    ::execve(argv[0], argv.data(), envp);
    ::_exit(127);
  }
  pid_ = pid;
  reaper_.watch(pid, [this](Ending ending) { ended(ending); });
  latest_ = loop_.after(kLongest, [this, pid] { reaper_.signal(pid, SIGKILL); });
}

void Tokens::ended(Ending ending) {
  pid_ = -1;
  loop_.cancel(latest_);
  if (!ending.signalled && ending.code == 0) {
    log_info("the tokens were read again");
    good_();
  } else {
    log_error("the tokens stay as they were: the file could not be read, or is wrong");
  }
  if (once_more_) {
    once_more_ = false;
    read_again();
  }
}

}  // namespace vitrine::keeper
