// SPDX-License-Identifier: Apache-2.0
#include "model/limits.h"

#include <string>

namespace vitrine {

namespace {

Status within(const char* field, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) return ok();
  return Error{.code = Code::invalid_argument,
               .message = std::string(field) + " is " + std::to_string(value) + ", not between " +
                          std::to_string(least) + " and " + std::to_string(most),
               .remedy = std::string("give ") + field + " a value in that range, or leave it out"};
}

std::uint64_t count(std::chrono::milliseconds time) {
  return time.count() < 0 ? 0 : static_cast<std::uint64_t>(time.count());
}

}  // namespace

Status Limits::validate() const {
  constexpr std::uint64_t kMiB = 1 << 20;
  constexpr std::uint64_t kDay = 24ull * 3600 * 1000;
  if (Status s = within("memory_bytes", memory_bytes, 16 * kMiB, 1024 * 1024 * kMiB); !s) return s;
  if (Status s = within("cpu_permille", cpu_permille, 10, 1'024'000); !s) return s;
  if (Status s = within("processes", processes, 4, 32'768); !s) return s;
  if (Status s = within("disk_bytes", disk_bytes, kMiB, 1024 * 1024 * kMiB); !s) return s;
  if (Status s = within("output_bytes", output_bytes, 1024, 64 * kMiB); !s) return s;
  if (Status s = within("exec_time_ms", count(exec_time), 1, kDay); !s) return s;
  if (Status s = within("idle_time_ms", count(idle_time), 1000, 30 * kDay); !s) return s;
  return ok();
}

}  // namespace vitrine
