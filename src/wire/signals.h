// SPDX-License-Identifier: Apache-2.0
// Signals from the keeper to a worker. Each carries the low bits of the execution it is meant for,
// and does nothing to any other one.
#pragma once

#include <csignal>
#include <cstdint>

namespace vitrine::wire {

// The stack must be the lower number: of two pending real-time signals it is delivered first.
inline int stack_signal() { return SIGRTMIN + 3; }
inline int interrupt_signal() { return SIGRTMIN + 4; }
// The picture is taken: an event loop that would never return may go. Its value is not the id alone.
inline int end_loop_signal() { return SIGRTMIN + 5; }

// Whether the screen was still changing when the loop was to end.
enum class Screen : std::uint8_t { still = 0, painting = 1 };

inline constexpr std::uint32_t kPaintingBit = 1u << 31;
inline std::uint32_t end_loop_value(std::uint64_t execution, Screen screen) {
  return (static_cast<std::uint32_t>(execution) & ~kPaintingBit) |
         (screen == Screen::painting ? kPaintingBit : 0);
}

}  // namespace vitrine::wire
