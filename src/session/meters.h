// SPDX-License-Identifier: Apache-2.0
// The kernel's accounts of a session: processor time and peak memory, from files of its cgroup. They
// are the kernel's word, and absent where there is no such file.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/fd.h"

namespace vitrine::session {

class Meters {
 public:
  Meters(Fd cpu, Fd peak) : cpu_(std::move(cpu)), peak_(std::move(peak)) {}

  // Of everything in the session so far.
  std::optional<std::uint64_t> cpu_us() const;
  std::optional<std::uint64_t> peak_kb() const;

 private:
  Fd cpu_;
  Fd peak_;
};

}  // namespace vitrine::session
