// SPDX-License-Identifier: Apache-2.0
// Which layers a session keeps when packages are added to it, and what its new layer holds: only the
// packages that it lacks. Pure.
//
// A package of another version replaces the layer that has it: an overlay would show the files of both
// versions. What else that layer has goes into the new one.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packages/layers.h"

namespace vitrine::provision {

struct Pin {
  std::string name;  // normalised
  std::string version;
  std::string text() const { return name + "==" + version; }
  bool operator==(const Pin&) const = default;
};
Pin pin_of(std::string_view text);

struct LayerPlan {
  LayerList kept;
  std::vector<std::size_t> added;     // indexes of `resolved`: what the new layer holds
  std::vector<std::string> unlisted;  // of layers that are not kept, and not resolved again
};
LayerPlan plan_layers(const std::vector<packages::Layer>& has, const std::vector<Pin>& resolved);

// The layers of `has` with those of `more` above them; none if a package would have two versions, if one
// of them comes before the image, or if there would be more than kMaxLayers. Both lists are complete in
// themselves: every package has what it needs in its list or in the image.
std::optional<LayerList> joined(const std::vector<packages::Layer>& has,
                                const std::vector<packages::Layer>& more);

}  // namespace vitrine::provision
