// SPDX-License-Identifier: Apache-2.0
#include "session/to_worker.h"

#include <gtest/gtest.h>

namespace vitrine::session {
namespace {

TEST(SetupOf, IsNothingForAPlainSession) { EXPECT_FALSE(setup_of(SessionSpec{})); }

TEST(SetupOf, ShowsTheProxyButLeavesWhatTheClientSet) {
  SessionSpec spec;
  spec.network = Network{{"files.example:443"}};
  spec.env = {{"HTTP_PROXY", "http://mine"}};

  const std::optional<wire::Setup> setup = setup_of(spec);

  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->environment.at("HTTP_PROXY"), "http://mine");
  EXPECT_EQ(setup->environment.at("HTTPS_PROXY"), "http://127.0.0.1:" + std::to_string(kProxyPort));
  EXPECT_TRUE(setup->environment.contains("no_proxy"));
}

TEST(SetupOf, GivesModuleNamesToAPolicyAndNothingElse) {
  SessionSpec spec;
  spec.imports = {"numpy", "not a module", "polars>=1"};
  EXPECT_FALSE(setup_of(spec)) << "the native policy needs none";

  spec.policy = Policy::restricted;
  const std::optional<wire::Setup> setup = setup_of(spec);

  ASSERT_TRUE(setup);
  EXPECT_EQ(setup->imports, std::vector<std::string>{"numpy"});
}

TEST(SetupOf, TellsThatPackagesComeFirst) {
  SessionSpec spec;
  spec.layer_first = true;

  const std::optional<wire::Setup> setup = setup_of(spec);

  ASSERT_TRUE(setup);
  EXPECT_TRUE(setup->packages_first);
  EXPECT_TRUE(setup->environment.empty());
}

TEST(ExecuteOf, TellsWhereItsInputComesFrom) {
  ExecRequest request{.code = "input()"};
  EXPECT_EQ(execute_of(request, Limits{}).stdin_mode, wire::Stdin::none);

  request.interactive = true;
  EXPECT_EQ(execute_of(request, Limits{}).stdin_mode, wire::Stdin::interactive);

  request.stdin_text = "given";
  const wire::Execute given = execute_of(request, Limits{});
  EXPECT_EQ(given.stdin_mode, wire::Stdin::given);
  EXPECT_EQ(given.stdin_bytes, "given");
}

TEST(ExecuteOf, AsksForTimeToPaintOnlyWhereAPictureIsWanted) {
  ExecRequest request{.code = "x"};
  request.render_timeout = std::chrono::milliseconds(0);
  EXPECT_EQ(execute_of(request, Limits{}).render_ms, 0u);

  request.capture_screenshot = true;
  EXPECT_EQ(execute_of(request, Limits{}).render_ms, 1u);
}

}  // namespace
}  // namespace vitrine::session
