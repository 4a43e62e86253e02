// SPDX-License-Identifier: Apache-2.0
// The allocator of pymalloc's arenas. The zygote uses huge pages, which make each fork and exit cheaper
// (docs/engine.md); a worker uses ordinary pages, so that small sessions stay small.
//
// The library is preloaded into the image's own Python: its constructor runs before main().
#pragma once

namespace vitrine::zygote {

// Moves the heap into huge pages too, so that a fork has less to copy. Call it once, after all imports.
// glibc's tunable for that needs /sys, which the zygote does not have. Best effort.
void settle_memory();

// Call it in a worker after its fork: arenas come from ordinary pages from now on.
void use_small_arenas();

}  // namespace vitrine::zygote
