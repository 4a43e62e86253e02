// SPDX-License-Identifier: Apache-2.0
// What a client wants to import, and what became of it: plain values between the routes, the
// provisioner and the installer. A Provided holds its layers, so that nobody removes them meanwhile.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "packages/layers.h"

namespace vitrine::provision {

struct PackageRequest {
  std::vector<std::string> packages;  // requirement strings
  std::vector<std::string> imports;   // module names
  bool allow_sdist = false;
  LayerList layers = {};         // that the session has already: their versions stay
  std::string environment = {};  // of the session
  std::string owner = {};        // whose quota an installation counts for
  std::optional<std::chrono::milliseconds> time =
      {};  // that the session waits for it; queueing counts

  bool empty() const { return packages.empty() && imports.empty(); }
};

// Modules and requirement strings as ADDITIONAL_IMPORTS and OpenEnv's clients mix them.
void add_imports(const std::vector<std::string>& names, PackageRequest& wish);

struct Provided {
  LayerList layers = {};                   // all of the session's; empty = the image has all of it
  std::vector<std::string> packages = {};  // what they hold, as pins
  std::vector<std::string> added = {};     // of those, what the session did not have
  bool shadows = false;  // the layers come before the image: the session must be a bare one
  packages::Layers::Hold hold = {};  // keep it until the session has the layers
  std::vector<std::string> notes = {};
  std::vector<std::string> modules = {};  // the imports, corrected
};

}  // namespace vitrine::provision
