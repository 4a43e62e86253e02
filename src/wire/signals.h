// SPDX-License-Identifier: Apache-2.0
// Signals from the keeper to a worker. Each carries the low 32 bits of the execution it is meant
// for, and does nothing to any other one.
#pragma once

#include <csignal>

namespace vitrine::wire {

// The stack must be the lower number: of two pending real-time signals it is delivered first.
inline int stack_signal() { return SIGRTMIN + 3; }
inline int interrupt_signal() { return SIGRTMIN + 4; }
// To leave the event loop of a toolkit: of a still screen, or of one that keeps painting.
inline int end_loop_signal(bool painting) { return SIGRTMIN + (painting ? 6 : 5); }

}  // namespace vitrine::wire
