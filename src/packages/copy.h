// SPDX-License-Identifier: Apache-2.0
// Copies a directory tree out of a session's home into a directory of the front.
//
// Trust: the tree is hostile. The keeper opens each file below that home with the session's ids. A link, a
// device, a socket, too many files, too many bytes or too deep a tree abort the copy. Modes are set here:
// 0644, and 0755 in `bin` and for directories; owners, setuid bits and extended attributes are not
// copied.
#pragma once

#include <cstdint>
#include <string>

#include "backend/keeper_link.h"

namespace vitrine::packages {

struct CopyLimits {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};
struct Copied {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};

// `over_limit` beyond the limits, `invalid_argument` for what is not a regular file. `into` must stay
// open.
backend::Task<Result<Copied>> copy_tree(backend::KeeperLink& keeper, std::uint64_t session,
                                        std::string from, int into, CopyLimits limits);

}  // namespace vitrine::packages
