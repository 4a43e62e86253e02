// SPDX-License-Identifier: Apache-2.0
// Programs that the benchmark starts: each is ended when its owner goes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace vitrine::bench {

class Process {
 public:
  Process() = default;
  explicit Process(int pid) : pid_(pid) {}
  Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Process& operator=(Process&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~Process() { stop(); }

  int pid() const { return pid_; }
  // Asks it to end, kills it if it has not within 10 s, and reaps it: the wait status. Safe to call
  // again.
  int stop();
  // Waits for its own end; the wait status.
  int wait();

 private:
  int pid_ = -1;
};

struct Start {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // empty: as here
  std::vector<std::pair<int, int>> fds;  // (own, as the child has it), besides 2; 0 is /dev/null
  std::function<Status()> prepare = {};  // in the child, before exec
};
Result<Process> start(const Start& what);

// Where Python finds the image, the runtime and our own module, as a jail would see it, with no
// jail: a mount namespace with the same overlay as root. For Start::prepare.
struct ImageRoot {
  std::vector<std::string> layers;  // topmost first
  std::string mount_point;          // an empty directory
};
Status enter_image(const ImageRoot& root);

// The image below what is laid over it: of `layer` and `runtime` the folder of the image's Python.
Result<ImageRoot> image_root(const std::string& layer, const std::string& runtime,
                             const std::string& image, const std::string& mount_point);

// The environment that a zygote starts with.
std::vector<std::string> zygote_environment();
// The same without what tunes the interpreter for forking.
std::vector<std::string> plain_environment();

}  // namespace vitrine::bench
