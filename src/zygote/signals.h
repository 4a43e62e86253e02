// SPDX-License-Identifier: Apache-2.0
// The worker's handlers for the keeper's signals: send the stack, interrupt this execution, and leave the
// event loop because the screenshot is taken.
//
// Handlers are async-signal-safe and also run while C code holds the GIL. They act only on the execution
// that the signal names, so a late signal cannot hit the next one. A signal that arrives before its
// execution has started is kept for it.
#pragma once

#include <chrono>
#include <cstdint>

namespace vitrine::zygote {

// In the worker, on its main thread. `socket` is where stacks are sent.
void install_signals(int socket);

// 0 = none is running.
void set_executing(std::uint64_t execution);
std::uint64_t executing();

// Whether the running (or last) execution was interrupted.
bool was_interrupted();

// For the one thread that ends loops. Waits until the keeper requests the end of the loop of `execution`,
// the execution is over, wake_loop_ender() was called, or the time has passed. Returns which of the
// first two happened. A request is returned once.
enum class LoopEnd { unasked, still, painting, over };
LoopEnd wait_for_loop_end(std::uint64_t execution, std::chrono::milliseconds most);
void wake_loop_ender();

// Call with the GIL. Raises SIGINT in Python, and interrupts system calls of the main thread until
// `execution` is over. False if it is over already.
bool strike(std::uint64_t execution);

}  // namespace vitrine::zygote
