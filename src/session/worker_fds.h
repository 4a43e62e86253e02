// SPDX-License-Identifier: Apache-2.0
// A worker's descriptors, by what they are for.
#pragma once

#include <optional>
#include <vector>

#include "base/fd.h"
#include "wire/control.h"

namespace vitrine::session {

struct WorkerFds {
  Fd socket = {};
  Fd out = {};
  Fd err = {};
  Fd cpu = {};  // files of the kernel's accounts; empty where there are none
  Fd peak = {};
  Fd network = {};   // what its proxy decides, and
  Fd counters = {};  // how much went through; empty without a network
};

enum class Outside { sealed, network };  // what the session was made with

// The keeper's descriptors under the names it gave them. Nothing if one that such a session needs is
// missing, or one is named twice, or not at all.
std::optional<WorkerFds> take_worker_fds(std::vector<Fd> fds, const wire::FdRoles& named,
                                         Outside outside);

}  // namespace vitrine::session
