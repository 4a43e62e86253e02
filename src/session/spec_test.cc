// SPDX-License-Identifier: Apache-2.0
#include "session/spec.h"

#include <gtest/gtest.h>

namespace vitrine::session {
namespace {

TEST(SessionSpec, ComesBackFromTheStoreAsItWas) {
  SessionSpec spec;
  spec.name = "demo";
  spec.owner = "alice";
  spec.variant = Variant::bare;
  spec.policy = Policy::restricted;
  spec.limits.memory_bytes = 1ull << 28;
  spec.limits.exec_time = std::chrono::milliseconds(1500);
  spec.seed = 7;
  spec.network = Network{{"files.example:443"}};
  spec.imports = {"numpy"};
  spec.environment = "lab";
  spec.install_time = std::chrono::milliseconds(7);
  spec.layers = {"abc", "def"};
  spec.packages = {"six==1.0"};
  spec.layer_first = true;
  spec.allow_sdist = true;

  const SessionSpec back = spec_from_json(spec_to_json(spec));

  EXPECT_EQ(back.name, "demo");
  EXPECT_EQ(back.owner, "alice");
  EXPECT_EQ(back.variant, Variant::bare);
  EXPECT_EQ(back.policy, Policy::restricted);
  EXPECT_EQ(back.limits.memory_bytes, 1ull << 28);
  EXPECT_EQ(back.limits.exec_time, std::chrono::milliseconds(1500));
  EXPECT_EQ(back.seed, 7u);
  ASSERT_TRUE(back.network);
  EXPECT_EQ(back.network->allow, spec.network->allow);
  EXPECT_EQ(back.imports, spec.imports);
  EXPECT_EQ(back.environment, "lab");
  EXPECT_EQ(back.install_time, spec.install_time);
  EXPECT_EQ(back.layers, (LayerList{"abc", "def"}));
  EXPECT_EQ(back.packages, spec.packages);
  EXPECT_TRUE(back.layer_first);
  EXPECT_TRUE(back.allow_sdist);
}

TEST(SessionSpec, KeepsNamesOfTheEnvironmentAndNoValue) {
  SessionSpec spec;
  spec.env = {{"API_KEY", "hunter2"}};
  spec.lost_env = {"OLDER"};

  const std::string stored = spec_to_json(spec);
  const SessionSpec back = spec_from_json(stored);

  EXPECT_EQ(stored.find("hunter2"), std::string::npos);
  EXPECT_TRUE(back.env.empty());
  EXPECT_EQ(back.lost_env, (std::vector<std::string>{"API_KEY", "OLDER"}));
}

TEST(SessionSpec, IsTheDefaultWhereTheStoreMakesNoSense) {
  for (const char* text : {"", "[]", "{", R"({"memory_bytes": "much", "policy": "none"})"}) {
    const SessionSpec spec = spec_from_json(text);

    EXPECT_EQ(spec.limits.memory_bytes, Limits{}.memory_bytes) << text;
    EXPECT_EQ(spec.policy, Policy::native) << text;
  }
}

TEST(VariantFor, IsLoadedWhereTheCodeNamesSomethingHeavy) {
  EXPECT_EQ(variant_for("import numpy as np"), Variant::loaded);
  EXPECT_EQ(variant_for("print(1)"), Variant::bare);
}

}  // namespace
}  // namespace vitrine::session
