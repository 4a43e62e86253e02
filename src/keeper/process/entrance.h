// SPDX-License-Identifier: Apache-2.0
// Opens what a worker is forked into a shell with.
//
// Threading: the keeper's loop. Failure: `over_limit` where no descriptors are left.
#pragma once

#include <memory>

#include "keeper/process/shells.h"

namespace vitrine::keeper {

Result<std::shared_ptr<const Entrance>> open_entrance(const Shells& shells, const Shell& shell);

}  // namespace vitrine::keeper
