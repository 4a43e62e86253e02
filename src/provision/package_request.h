// SPDX-License-Identifier: Apache-2.0
// What a client wants to import, and what became of it: plain values between the routes, the
// provisioner and the installer. A Provided holds its layer, so that nobody removes it meanwhile.
#pragma once

#include <string>
#include <vector>

#include "packages/layers.h"

namespace vitrine::provision {

struct PackageRequest {
  std::vector<std::string> packages;  // requirement strings
  std::vector<std::string> imports;   // module names
  bool allow_sdist = false;
  std::string layer = {};        // that the session has already: its versions stay
  std::string environment = {};  // of the session
  std::string owner = {};        // whose quota an installation counts for

  bool empty() const { return packages.empty() && imports.empty(); }
};

// Modules and requirement strings as ADDITIONAL_IMPORTS and OpenEnv's clients mix them.
void add_imports(const std::vector<std::string>& names, PackageRequest& wish);

struct Provided {
  std::string layer = {};  // "" = the image has all of it
  bool shadows = false;    // the layer comes before the image: the session must be a bare one
  packages::Layers::Hold hold = {};  // keep it until the session has the layer
  std::vector<std::string> notes = {};
  std::vector<std::string> modules = {};  // the imports, corrected
};

}  // namespace vitrine::provision
