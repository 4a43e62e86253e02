// SPDX-License-Identifier: Apache-2.0
// Starts a program that serves the front from outside every session: an encoder, the index gateway.
//
// The child has a socket as descriptor 3, /dev/null as standard input and output, the keeper's standard
// error, LANG as its only environment variable, no arguments, no new privileges, and a user id of its
// own. It dies with the keeper.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/result.h"

namespace vitrine::keeper {

struct HelperProgram {
  const char* name;           // argv[0]
  int program = -1;           // a descriptor of the executable
  std::optional<uid_t> user;  // none = the keeper's own
  int nice = 0;
};

// The child's pid. `socket` stays the caller's.
Result<int> spawn_helper(const HelperProgram& helper, int socket);

}  // namespace vitrine::keeper
