// SPDX-License-Identifier: Apache-2.0
// The worker's answers to the keeper's signals: "where are you?", "stop this execution" and "the picture
// is taken, leave your event loop".
//
// Handlers are async-signal-safe and run also while C code holds the interpreter lock. They act only
// for the execution the signal names, so a late signal can never hit the next one; one that comes before
// its execution has begun is kept for it.
#pragma once

#include <chrono>
#include <cstdint>

namespace vitrine::zygote {

// In the worker, on its main thread. `socket` is where stacks are sent.
void install_signals(int socket);

// 0 = none is running.
void set_executing(std::uint64_t execution);
std::uint64_t executing();

// Whether the running (or last) execution was told to stop.
bool was_interrupted();

// For the one thread that ends loops. Waits until the keeper wants the loop of `execution` ended, the
// execution is over, wake_loop_ender() was called or the time has passed; says which of the first two
// is the case. A wish is told once.
enum class LoopEnd { unasked, still, painting, over };
LoopEnd wait_for_loop_end(std::uint64_t execution, std::chrono::milliseconds most);
void wake_loop_ender();

// With the interpreter lock. Raises SIGINT in Python and breaks off system calls of the main thread until
// `execution` is over. False if it is over already.
bool strike(std::uint64_t execution);

}  // namespace vitrine::zygote
