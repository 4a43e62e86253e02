// SPDX-License-Identifier: Apache-2.0
// Where packages come from, as the operator or pip's configuration say; written down for the front.
#pragma once

#include <sys/types.h>

#include <string>

#include "app/serve_settings.h"

namespace vitrine::app {

struct PackagePlaces {
  std::string file;    // JSON for the front, in its directory, mode 0600: it may hold credentials
  std::string wheels;  // a directory for the keeper; "" = none
  bool has_index = true;  // packages are on, and come from an index
  std::string addresses;  // of the index, with commas: installations reach them, also private ones
};

// `front` owns the file where the server is started as root.
Result<PackagePlaces> packages_for_front(const Settings& settings, const std::string& image,
                                         const std::string& data, uid_t front);

}  // namespace vitrine::app
