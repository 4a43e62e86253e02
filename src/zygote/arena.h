// SPDX-License-Identifier: Apache-2.0
// Where pymalloc gets its arenas: in the zygote from huge pages, which make each fork and exit
// cheaper (docs/engine.md); in a worker from ordinary pages, so that small sessions stay small.
//
// The library is preloaded into the image's own Python: its constructor runs before main().
#pragma once

namespace vitrine::zygote {

// Once, when all is imported: the heap goes into huge pages too, so that a fork has less to copy
// (glibc's own tunable for that wants /sys, which the zygote has not). Best effort.
void settle_memory();

// From now on this process is a worker.
void use_small_arenas();

}  // namespace vitrine::zygote
