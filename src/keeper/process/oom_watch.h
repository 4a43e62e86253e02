// SPDX-License-Identifier: Apache-2.0
// Watches one sandbox for processes that the kernel kills for want of memory.
//
// The kernel's notification may come before it has chosen a victim (cgroup v1), and for other reasons
// (v2): the count of kills decides.
// Ownership: the sandbox, which must outlive the group that it counts in.
// Threading: the keeper's loop.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "keeper/loop.h"

namespace vitrine::keeper {

class OomWatch {
 public:
  struct Source {
    int event = -1;                                // see jail::Cgroup::oom_event()
    std::uint32_t poll_events = 0;                 // of it
    std::function<Result<std::uint64_t>()> kills;  // since the group was made
  };
  // `killed` is called from the loop, at every notification behind which there is a kill. Kills from
  // before are not counted.
  OomWatch(Loop& loop, Source source, std::function<void()> killed);
  ~OomWatch();
  OomWatch(const OomWatch&) = delete;
  OomWatch& operator=(const OomWatch&) = delete;

  // Whether something was killed; looks at the count now.
  bool saw_kill();

 private:
  void look(int looks_left);

  Loop& loop_;
  Source source_;
  std::function<void()> killed_;
  std::uint64_t before_ = 0;
  bool saw_kill_ = false;
  TimerId timer_ = 0;
};

}  // namespace vitrine::keeper
