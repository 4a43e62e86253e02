// SPDX-License-Identifier: Apache-2.0
// What the gateway gives up before it accepts a connection: every system call that it does not need,
// new threads and programs, listening, writing to files, and memory beyond its bounds.
#pragma once

#include "base/result.h"

namespace vitrine::gateway {

// Applies to all threads, for good. The process must exit after any failure.
Status seal_gateway();

}  // namespace vitrine::gateway
