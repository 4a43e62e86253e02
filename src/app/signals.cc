// SPDX-License-Identifier: Apache-2.0
#include "app/signals.h"

#include <sys/signalfd.h>

namespace vitrine::app {

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, &before_);
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

Signals::~Signals() { restore(); }

int Signals::take() {
  signalfd_siginfo info;
  return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                              : 0;
}

void Signals::restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace vitrine::app
