// SPDX-License-Identifier: Apache-2.0
// What the keeper is started with: the image, the programs that it runs in sessions, the system call filters.
//
// What runs inside a session is copied into sealed memory: nobody can change it afterwards, and it is not a
// file of the host.
#pragma once

#include "base/fd.h"
#include "keeper/image.h"
#include "keeper/options.h"
#include "model/level.h"

namespace vitrine::keeper {

struct Programs {
  Image image;
  std::string runtime;  // directory laid over the image
  Fd init;              // sealed
  Fd screen;            // sealed; empty = this build has none: no window list, no input
  Fd encoder;           // empty = this build has none: no recordings
  Fd gateway;           // empty = this build has none: no index with credentials
};
// Each failure has a remedy.
Result<Programs> open_programs(const Options& options);

struct SealedFilters {
  Fd zygote;
  Fd worker;
  Fd display;
};
Result<SealedFilters> compile_filters(Level level);

}  // namespace vitrine::keeper
