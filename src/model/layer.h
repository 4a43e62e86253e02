// SPDX-License-Identifier: Apache-2.0
// The name of a package layer: a directory that one session, or many, see read-only at kLayerPoint.
#pragma once

#include <algorithm>
#include <string_view>

namespace vitrine {

// Where a session finds its packages. In the runtime's layer, so that every root has it, empty.
inline constexpr const char* kLayerPoint = "/usr/local/lib/vitrine-packages";

// The operator's own directory of wheels (--find-links), which only an installation sees.
inline constexpr std::string_view kWheels = "wheels";

// A SHA-256 in hex, as the directory below the data directory's `layers` is called; or kWheels.
inline bool is_layer_name(std::string_view name) {
  return name == kWheels || (name.size() == 64 && std::all_of(name.begin(), name.end(), [](char c) {
                               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                             }));
}

}  // namespace vitrine
