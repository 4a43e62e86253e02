// SPDX-License-Identifier: Apache-2.0
// The zygote's loop: waits for a request, forks a worker into the shell that it names, and answers.
//
// Threading: the process has one thread; serve_forks() fails if there is another, which a fork would lose.
// Trust:     requests come from the keeper. When serve_forks() returns in a child, the child is sealed
//            (every step of the jail is done) and has not run user code yet.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>

#include "base/result.h"

namespace vitrine::zygote {

struct Forked {
  bool rehearse = false;
};

// Returns in each worker; in the zygote only with an error. A worker whose jail fails reports to the
// keeper and exits.
Result<Forked> serve_forks(int control, std::span<const sock_filter> zygote_filter,
                           std::span<const sock_filter> worker_filter);

}  // namespace vitrine::zygote
