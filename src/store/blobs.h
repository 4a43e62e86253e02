// SPDX-License-Identifier: Apache-2.0
// Large records as files beside the database, named by their SHA-256.
//
// A row holds either the record itself or a reference to its file; only this class tells them apart.
// Threading: the front's one thread.
#pragma once

#include <string>

#include "base/result.h"

namespace vitrine::store {

class Blobs {
 public:
  // Files are in `directory`/blobs, which is made if it is missing.
  explicit Blobs(const std::string& directory);

  // What the row is to hold. A record above 64 KiB is written to a file first.
  Result<std::string> keep(const std::string& record) const;
  // The record that the row stands for; "" if its file is gone.
  std::string fetch(const std::string& row) const;

  static bool is_file(const std::string& row);
  // Removes the file of a row that is_file().
  void remove(const std::string& row) const;

 private:
  std::string path_of(const std::string& row) const;

  std::string directory_;
};

}  // namespace vitrine::store
