// SPDX-License-Identifier: Apache-2.0
#include "provision/layer_plan.h"

#include <algorithm>

#include "packages/requirements.h"

namespace vitrine::provision {

namespace {

using Versions = std::map<std::string, std::string>;  // by name

// A pin of the layer whose package has another version in `other`.
bool differs(const packages::Layer& layer, const Versions& other) {
  return std::ranges::any_of(layer.pins, [&](const std::string& text) {
    const Pin pin = pin_of(text);
    const auto found = other.find(pin.name);
    return found != other.end() && found->second != pin.version;
  });
}

}  // namespace

Pin pin_of(std::string_view text) {
  const std::size_t equals = text.find("==");
  if (equals == std::string_view::npos) return {packages::normalised(text), ""};
  return {packages::normalised(text.substr(0, equals)), std::string(text.substr(equals + 2))};
}

LayerPlan plan_layers(const std::vector<packages::Layer>& has, const std::vector<Pin>& resolved) {
  Versions wanted;
  for (const Pin& pin : resolved) wanted[pin.name] = pin.version;
  LayerPlan plan;
  Versions kept;
  std::vector<Pin> replaced;
  for (const packages::Layer& layer : has) {
    const bool stays = !differs(layer, wanted);
    if (stays) plan.kept.push_back(layer.id);
    for (const std::string& text : layer.pins) {
      Pin pin = pin_of(text);
      if (stays) kept[pin.name] = pin.version;
      else replaced.push_back(std::move(pin));
    }
  }
  for (std::size_t i = 0; i < resolved.size(); ++i)
    if (!kept.contains(resolved[i].name)) plan.added.push_back(i);
  for (const Pin& pin : replaced)
    if (!wanted.contains(pin.name) && !kept.contains(pin.name)) plan.unlisted.push_back(pin.text());
  return plan;
}

std::optional<LayerList> joined(const std::vector<packages::Layer>& has,
                                const std::vector<packages::Layer>& more) {
  Versions versions;
  LayerList out;
  for (const packages::Layer& layer : has) {
    if (layer.shadows) return std::nullopt;
    out.push_back(layer.id);
    for (const std::string& text : layer.pins) {
      const Pin pin = pin_of(text);
      versions[pin.name] = pin.version;
    }
  }
  for (const packages::Layer& layer : more) {
    if (layer.shadows || differs(layer, versions)) return std::nullopt;
    if (std::ranges::find(out, layer.id) == out.end()) out.push_back(layer.id);
  }
  if (out.size() > kMaxLayers) return std::nullopt;
  return out;
}

}  // namespace vitrine::provision
