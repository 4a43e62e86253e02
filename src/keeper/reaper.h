// SPDX-License-Identifier: Apache-2.0
// Every child of the keeper ends here, the ones it knows and the ones it does not.
//
// The keeper is the parent of builder, zygotes, inits and workers (CLONE_PARENT). Until a child is
// reaped its pid names nothing else, so signalling a pid that this class still holds is exact.
#pragma once

#include <sys/resource.h>

#include <functional>
#include <optional>
#include <unordered_map>

#include "keeper/loop.h"

namespace vitrine::keeper {

struct Ending {
  bool signalled = false;
  int code = 0;                      // exit status or signal
  std::chrono::microseconds cpu{0};  // that it used, with the children it waited for
};

class Reaper {
 public:
  // Blocks SIGCHLD for the process.
  Status start(Loop& loop);

  // `ended` is called once, from the loop, never from inside watch(). Watching a child again replaces
  // what was to be called, also when it has ended and nobody was told yet.
  void watch(int pid, std::function<void(Ending)> ended);

  // False once it has been reaped.
  bool signal(int pid, int signal) const;
  bool signal(int pid, int signal, std::uint32_t value) const;

 private:
  void reap();
  void tell(int pid);

  Loop* loop_ = nullptr;
  Fd signals_;
  struct Child {
    std::function<void(Ending)> ended;
    std::optional<Ending> ending = {};  // reaped before it was watched, to be told
  };
  std::unordered_map<int, Child> children_;
  // Children that ended before we were told of them: their maker's message is still on its way.
  struct Early {
    Ending ending;
    Clock::time_point when;
  };
  std::unordered_map<int, Early> early_;
};

}  // namespace vitrine::keeper
