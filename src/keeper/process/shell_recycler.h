// SPDX-License-Identifier: Apache-2.0
// Shells that were used by a one-shot and wait for the next one: everything of the last worker is gone
// from them, and nothing of it can be seen.
//
// The next worker makes itself new scratch filesystems, an ipc namespace and Landlock rules before it is
// sealed; what is not renewed (network namespace, display socket) must be as it was. A shell of which
// that is not sure is retired.
//
// Ownership: it holds the shells between recycle() and take(); the Shells own them.
// Threading: the keeper's loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "keeper/process/shells.h"

namespace vitrine::keeper {

class ShellRecycler {
 public:
  struct Config {
    std::uint32_t shells = 32;            // that wait at the same time
    std::uint32_t uses_per_shell = 1000;  // then it is retired
  };

  ShellRecycler(Loop& loop, Shells& shells, Config config)
      : loop_(loop), shells_(shells), config_(config) {}

  // Whether the shell may be used again at all; recycle() may still retire it.
  bool accepts(const Shell& shell) const;
  // Its worker must be dead; what that left running is killed. `gone` when nothing of it is left.
  void recycle(Shell* shell, std::function<void()> gone);
  Shell* take();  // null = none waits
  std::size_t size() const { return waiting_.size(); }
  void stop();

  // Kills what the last worker left running. Calls `then` with yes once none of it is left and its group
  // can be used for the next, or with no if that does not happen.
  enum class Emptied { no, yes };
  void wait_empty(Shell* shell, std::function<void(Emptied)> then);

 private:
  void wait_empty(Shell* shell, int tries, std::function<void(Emptied)> then);
  bool left_network_traces(Shell& shell);

  Loop& loop_;
  Shells& shells_;
  Config config_;
  bool stopping_ = false;
  std::deque<Shell*> waiting_;
  NetworkTraces traces_;
};

}  // namespace vitrine::keeper
