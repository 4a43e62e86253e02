// SPDX-License-Identifier: Apache-2.0
#include "provision/layer_plan.h"

#include <gtest/gtest.h>

namespace vitrine::provision {
namespace {

packages::Layer layer(std::string id, std::vector<std::string> pins) {
  return {.id = std::move(id), .pins = std::move(pins)};
}

TEST(LayerPlan, AddsOnlyWhatTheSessionLacks) {
  const LayerPlan plan =
      plan_layers({layer("a", {"six==1"}), layer("b", {"toolz==2"})}, {{"six", "1"}, {"new", "3"}});

  EXPECT_EQ(plan.kept, (LayerList{"a", "b"}));
  EXPECT_EQ(plan.added, std::vector<std::size_t>{1});
  EXPECT_TRUE(plan.unlisted.empty());
}

TEST(LayerPlan, AddsNothingToASessionThatHasIt) {
  const LayerPlan plan = plan_layers({layer("a", {"six==1"})}, {{"six", "1"}});

  EXPECT_EQ(plan.kept, LayerList{"a"});
  EXPECT_TRUE(plan.added.empty());
}

TEST(LayerPlan, ReplacesALayerWhosePackageGetsAnotherVersion) {
  const LayerPlan plan = plan_layers({layer("a", {"six==1", "toolz==2"}), layer("b", {"x==1"})},
                                     {{"six", "2"}, {"toolz", "2"}, {"x", "1"}});

  EXPECT_EQ(plan.kept, LayerList{"b"});
  EXPECT_EQ(plan.added, (std::vector<std::size_t>{0, 1})) << "toolz was in the replaced layer";
  EXPECT_TRUE(plan.unlisted.empty());
}

TEST(LayerPlan, NamesWhatAReplacedLayerHadAndNobodyResolved) {
  const LayerPlan plan = plan_layers({layer("a", {"six==1", "toolz==2"})}, {{"six", "2"}});

  EXPECT_EQ(plan.unlisted, std::vector<std::string>{"toolz==2"});
}

TEST(LayerPlan, JoinsListsWithoutTwoVersionsOfOnePackage) {
  const std::vector<packages::Layer> has{layer("a", {"six==1"})};

  EXPECT_EQ(joined(has, {layer("b", {"toolz==2", "six==1"}), layer("a", {"six==1"})}),
            (LayerList{"a", "b"}));
  EXPECT_FALSE(joined(has, {layer("b", {"six==2"})}));
}

TEST(LayerPlan, JoinsNoLayerThatComesBeforeTheImageAndNoMoreThanAMountTakes) {
  packages::Layer first = layer("a", {"numpy==1"});
  first.shadows = true;
  std::vector<packages::Layer> many;
  for (std::size_t i = 0; i < kMaxLayers; ++i) many.push_back(layer(std::to_string(i), {}));

  EXPECT_FALSE(joined({first}, {layer("b", {"six==1"})}));
  EXPECT_FALSE(joined({layer("b", {"six==1"})}, {first}));
  EXPECT_FALSE(joined(many, {layer("x", {"six==1"})}));
}

}  // namespace
}  // namespace vitrine::provision
