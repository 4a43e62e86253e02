// SPDX-License-Identifier: Apache-2.0
// Starting the builder: a child of the keeper that lives in the outer user namespace and makes everything
// that needs capabilities there - shells and zygotes - so that no host root is near either.
//
// Ownership: the keeper starts one, talks to it over a socket (keeper/builder_messages.h), and starts
// another if it dies. What it makes (CLONE_PARENT) are children of the keeper.
// Trust:     both ends are ours; messages are not bounded against an attacker.
#pragma once

#include <functional>

#include "base/fd.h"
#include "base/result.h"
#include "keeper/process/builder_config.h"

namespace vitrine::keeper {

// The outer namespaces outlive a builder: a process of their own holds them, pid 1 of the outer pid
// namespace. It dies with the keeper, and everything inside dies with it.
struct Builder {
  int pid = -1;
  int outer_init = -1;  // pid of that process
  Fd control;           // the keeper's end of the builder's socket
};

// Forks a builder, with new outer namespaces (`outer_init` < 0) or into existing ones.
// `placed` is called with the pid of the process that everything else descends from, before it does
// anything.
Result<Builder> start_builder(const BuilderConfig& config, int outer_init,
                              const std::function<Status(int pid)>& placed);

}  // namespace vitrine::keeper
