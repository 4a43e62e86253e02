// SPDX-License-Identifier: Apache-2.0
#include "api/range.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace vitrine::api {

std::optional<Range> read_range(const std::string& header, std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit) || header.find(',') != std::string::npos) return std::nullopt;
  const std::string_view text = std::string_view(header).substr(kUnit.size());
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size())
      return std::nullopt;
    return value;
  };
  const auto first = number(text.substr(0, dash));
  const auto last = number(text.substr(dash + 1));
  const bool bad = (!first && dash > 0) || (!last && dash + 1 < text.size());
  if (bad || (!first && !last)) return std::nullopt;
  Range range;
  if (!first) {  // the last n bytes
    range.unsatisfiable = *last == 0 || size == 0;
    range.first = *last >= size ? 0 : size - *last;
    range.last = size - 1;
  } else {
    if (last && *last < *first) return std::nullopt;
    range.unsatisfiable = *first >= size;
    range.first = *first;
    range.last = last ? std::min(*last, size - 1) : size - 1;
  }
  return range;
}

}  // namespace vitrine::api
