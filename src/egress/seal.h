// SPDX-License-Identifier: Apache-2.0
// What the proxy gives up before it reads its first hostile byte: every system call that it does not
// need, new threads and programs, writing to files, and memory beyond its bounds.
#pragma once

#include "base/result.h"

namespace vitrine::egress {

// Applies to all threads, for good. The process must exit after any failure.
Status seal_proxy();

}  // namespace vitrine::egress
