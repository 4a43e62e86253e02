// SPDX-License-Identifier: Apache-2.0
#include "session/lines.h"

#include <utility>

namespace vitrine::session {

bool is_complete(const std::vector<Fd>& row, Outside outside) {
  return row.size() >= (outside == Outside::network ? 5u : 3u);
}

Lines take_lines(std::vector<Fd> row, Outside outside) {
  Lines lines{.socket = std::move(row[0]), .out = std::move(row[1]), .err = std::move(row[2])};
  if (outside == Outside::network) {
    lines.counters = std::move(row.back());
    row.pop_back();
    lines.network = std::move(row.back());
    row.pop_back();
  }
  if (row.size() >= 5) {
    lines.cpu = std::move(row[3]);
    lines.peak = std::move(row[4]);
  }
  return lines;
}

}  // namespace vitrine::session
