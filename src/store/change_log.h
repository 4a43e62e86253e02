// SPDX-License-Identifier: Apache-2.0
// An append-only file of changes that are not in the database yet.
//
// A change is safe against the death of the process when append() returns. One append is one system
// call. An entry that was cut off by a crash is ignored: its append() never returned.
// Threading: the front's one thread.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace vitrine::store {

class ChangeLog {
 public:
  static constexpr std::size_t kMaxBytes = 64u << 20;

  // The log of no file: is_open() is false, and nothing may be appended.
  ChangeLog() = default;
  // Opens or makes the file; changes() are those it holds.
  static Result<ChangeLog> open(const std::string& path);

  bool is_open() const { return static_cast<bool>(file_); }
  const std::vector<std::string>& changes() const { return changes_; }
  std::size_t bytes() const { return bytes_; }  // of all changes

  // `over_limit` when the disk is full; then nothing is appended.
  Status append(std::string change);
  Status clear();

 private:
  Fd file_;
  std::vector<std::string> changes_;
  std::size_t bytes_ = 0;
};

}  // namespace vitrine::store
