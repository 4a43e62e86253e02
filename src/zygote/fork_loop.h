// SPDX-License-Identifier: Apache-2.0
// The zygote's whole life: wait for a request, fork a worker into the shell it names, answer.
//
// Threading: the process has one thread; a second one is refused, since a fork would lose it.
// Trust:     requests come from the keeper. The child is still trusted when serve_forks() returns in
//            it, and sealed: every step of the jail is done.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>

#include "base/result.h"

namespace vitrine::zygote {

struct Forked {
  bool rehearse = false;
};

// Returns in each worker, never in the zygote except with the reason it cannot go on. A worker whose
// jail fails reports to the keeper and exits inside.
Result<Forked> serve_forks(int control, std::span<const sock_filter> zygote_filter,
                           std::span<const sock_filter> worker_filter);

}  // namespace vitrine::zygote
