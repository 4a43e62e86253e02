// SPDX-License-Identifier: Apache-2.0
// What a helper process gives up before it reads its first hostile byte: every system call that its seal
// does not name, executable memory, core dumps, new privileges, and memory and descriptors beyond limits.
//
// Each helper describes its seal as a constant. Nothing of it depends on what the helper was sent.
// Threading: applies to all threads of the process.
#pragma once

#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace vitrine::seal {

// A system call that is allowed only while `argument & mask` is `value`.
struct Condition {
  int call = -1;
  unsigned argument = 0;  // its position, from 0
  std::uint64_t mask = ~std::uint64_t{0};
  std::uint64_t value = 0;
};

struct Limit {
  __rlimit_resource resource = RLIMIT_CORE;
  rlim_t most = 0;
};

enum class Base {
  // Computing, memory that is not executable, messages on descriptors that are open, the exit.
  compute,
  // Also a client of the network that uses the system's resolver: sockets of the internet and of netlink,
  // files opened for reading. A name service that listens on a unix socket is not reached.
  network,
};

struct Seal {
  Base base = Base::compute;
  std::span<const int> calls = {};  // allowed beside the base
  std::span<const Condition> conditions = {};
  std::span<const Limit> limits = {};  // lowered further where the host's own limit is lower
  int refusal = ENOSYS;                // errno of a call that is not allowed
};

// For good. The process must exit after any failure.
Status apply(const Seal& seal);

}  // namespace vitrine::seal
