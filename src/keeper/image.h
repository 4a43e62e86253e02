// SPDX-License-Identifier: Apache-2.0
// The runtime image as the keeper needs it: found, whole enough to start, and of a kind it knows.
#pragma once

#include <string>

#include "base/fd.h"

namespace vitrine::keeper {

inline constexpr int kImageFormat = 1;  // of manifest.json; raised when sessions need something new

struct Image {
  std::string root;    // path of the tree
  std::string python;  // "3.13.5"
  std::string recipe;  // a hash of what it was made from
  Fd lock;  // shared, on the manifest: who rebuilds the image keeps this tree until we end
};

// `not_found` for a missing image, `invalid_argument` for a damaged or older one; each with a remedy.
Result<Image> open_image(const std::string& directory);

// The layer of the image's Python: `directory`/X.Y, complete. `not_found` names what there is instead.
Result<std::string> find_runtime(const std::string& directory, const Image& image);

// The value of a string or whole number at the top level of a flat JSON text, "" if there is none.
// Good enough for a manifest that our own tool wrote.
std::string manifest_value(const std::string& json, const std::string& key);

}  // namespace vitrine::keeper
