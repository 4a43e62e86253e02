// SPDX-License-Identifier: Apache-2.0
// The worker's answers to the keeper's two signals: "where are you?" and "stop this execution".
//
// Handlers are async-signal-safe and run also while C code holds the interpreter lock. They act only
// for the execution the signal names, so a late signal can never hit the next one; one that comes before
// its execution has begun is kept for it.
#pragma once

#include <cstdint>

namespace vitrine::zygote {

// In the worker, on its main thread. `socket` is where stacks are sent.
void install_signals(int socket);

// 0 = none is running.
void set_executing(std::uint64_t execution);
std::uint64_t executing();

// Whether the running (or last) execution was told to stop.
bool was_interrupted();

}  // namespace vitrine::zygote
