// SPDX-License-Identifier: Apache-2.0
// Package layers by name. A layer is a directory of packages. A session has a list of them, which it sees
// as one read-only tree at kLayerPoint.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// Where a session finds its packages. In the runtime's layer, so that every root has it, empty.
inline constexpr const char* kLayerPoint = "/usr/local/lib/vitrine-packages";

// The operator's own directory of wheels (--find-links), which only an installation sees.
inline constexpr std::string_view kWheels = "wheels";

// The layers of a session, oldest first: where two have the same file, the later one wins.
using LayerList = std::vector<std::string>;
// At most: mount(2) takes one page of options, and a name in it has 72 bytes.
inline constexpr std::size_t kMaxLayers = 32;

// A SHA-256 in hex, as the directory below the data directory's `layers` is called; or kWheels.
inline bool is_layer_name(std::string_view name) {
  return name == kWheels || (name.size() == 64 && std::all_of(name.begin(), name.end(), [](char c) {
                               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                             }));
}

inline bool are_layer_names(const LayerList& names) {
  return names.size() <= kMaxLayers &&
         std::all_of(names.begin(), names.end(),
                     [](std::string_view name) { return is_layer_name(name); });
}

}  // namespace vitrine
