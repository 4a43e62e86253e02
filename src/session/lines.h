// SPDX-License-Identifier: Apache-2.0
// What the descriptors of a worker are for, which the keeper hands over in one row. A row that is too
// short is no session: is_complete() comes before take_lines().
#pragma once

#include <vector>

#include "base/fd.h"

namespace vitrine::session {

struct Lines {
  Fd socket;
  Fd out;
  Fd err;
  Fd cpu = {};  // files of the kernel's accounts; empty where there are none
  Fd peak = {};
  Fd network = {};   // what its proxy decides, and
  Fd counters = {};  // how much went through; empty without a network
};

enum class Outside { sealed, network };  // what the session was made with

bool is_complete(const std::vector<Fd>& row, Outside outside);
Lines take_lines(std::vector<Fd> row, Outside outside);

}  // namespace vitrine::session
