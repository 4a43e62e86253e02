// SPDX-License-Identifier: Apache-2.0
// A tree of files out of a session's home into a directory of ours.
//
// Trust: the tree is hostile. Each file is opened by the keeper, below that home and with that session's
// ids, and must be a regular one: a link, a device, a socket, too many files, too many bytes or too deep
// a tree end it. Modes are ours: 0644, and 0755 in `bin` and for directories; no owner, no setuid bit
// and no extended attribute comes along.
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

// `over_limit` beyond the limits, `invalid_argument` for what is no file. `into` must stay open.
backend::Task<Result<Copied>> copy_tree(backend::KeeperLink& keeper, std::uint64_t session,
                                        std::string from, int into, CopyLimits limits);

}  // namespace vitrine::packages
