// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP as a descriptor to poll, during its lifetime. A child process must call
// restore() before its exec.
#pragma once

#include <csignal>

#include "base/fd.h"

namespace vitrine::app {

class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_.get(); }
  int take();            // the next pending signal; 0 = none
  void restore() const;  // the mask as it was before

 private:
  sigset_t before_{};
  Fd fd_;
};

}  // namespace vitrine::app
