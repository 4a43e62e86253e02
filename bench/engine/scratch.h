// SPDX-License-Identifier: Apache-2.0
// A directory for temporary files, removed with everything in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace vitrine::bench {

class Scratch {
 public:
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "vitrine-bench.XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }  // empty if there is none

 private:
  std::string path_;
};

}  // namespace vitrine::bench
