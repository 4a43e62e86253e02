// SPDX-License-Identifier: Apache-2.0
// What the proxy gives away before it reads its first hostile byte: every system call it does not
// need, new threads and programs, writing files, memory beyond its bounds.
#pragma once

#include "base/result.h"

namespace vitrine::egress {

// For all threads, for good. Any failure must end the process.
Status seal();

}  // namespace vitrine::egress
