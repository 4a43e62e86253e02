// SPDX-License-Identifier: Apache-2.0
// A Range header, "bytes=a-b".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace vitrine::api {

// Of a file of `size` bytes. If it can be satisfied: first <= last < size.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool unsatisfiable = false;
};
// nullopt = no range, or one we do not serve: the whole is sent then.
std::optional<Range> read_range(const std::string& header, std::uint64_t size);

}  // namespace vitrine::api
