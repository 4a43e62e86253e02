// SPDX-License-Identifier: Apache-2.0
// Peers that are programs: a Python started for every run, with the image's own packages.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/process.h"

namespace vitrine::bench {

// Imports numpy, pandas and pyplot, prints 1+1, exits. Milliseconds until it is reaped.
Result<double> time_fresh_python(const ImageRoot& root);
// The same under bubblewrap, with every namespace of its own. `unsupported` where there is none.
Result<double> time_bubblewrap(const std::string& image_root);

// The peers that bench/engine/peers.py drives.
class Peers {
 public:
  static Result<Peers> start(const std::string& python, const std::string& script,
                             const std::string& image_root);

  // metric -> values, of one measurement. `unsupported` when the peer cannot be had here.
  using Values = std::map<std::string, std::vector<double>>;
  Result<Values> measure(const std::string& peer);

 private:
  Result<std::string> line();

  Process process_;
  Fd requests_;
  Fd answers_;
  std::string read_;
};

}  // namespace vitrine::bench
