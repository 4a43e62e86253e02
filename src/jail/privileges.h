// SPDX-License-Identifier: Apache-2.0
// Giving up every capability, for good: bounding, ambient, inheritable, permitted and effective sets
// empty, securebits locked, no_new_privs set. Async-signal-safe on success.
#pragma once

#include "base/result.h"
#include "jail/sys.h"

namespace vitrine::jail {

Status drop_all_privileges(Sys& sys);

}  // namespace vitrine::jail
