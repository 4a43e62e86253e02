// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/messages.h"

#include <gtest/gtest.h>

namespace vitrine::api::openenv {
namespace {

json::object object(const char* text) { return json::parse(text).as_object(); }

Action action_of(const char* text) { return std::get<Action>(read_action(object(text))); }

json::object first_mistake(const std::variant<Action, Mistakes>& read) {
  return to_json(std::get<Mistakes>(read)).at(0).as_object();
}
json::object first_mistake(const std::variant<Reset, Mistakes>& read) {
  return to_json(std::get<Mistakes>(read)).at(0).as_object();
}
json::object first_mistake(const std::variant<Step, Mistakes>& read) {
  return to_json(std::get<Mistakes>(read)).at(0).as_object();
}

TEST(OpenenvAction, IsTheCode) {
  const Action action = action_of(R"({"code": "6 * 7"})");

  EXPECT_EQ(action.code, "6 * 7");
  EXPECT_FALSE(action.capture_screenshot);
  EXPECT_FALSE(action.wishes.screenshot || action.wishes.results || action.wishes.usage);
  EXPECT_FALSE(action.timeout_s);
}

TEST(OpenenvAction, TellsWhereTheScreenshotWasAskedFor) {
  EXPECT_TRUE(action_of(R"({"code": "", "capture_screenshot": true})").capture_screenshot);
  EXPECT_TRUE(action_of(R"({"code": "", "metadata": {"capture_screenshot": true, "mine": 1}})")
                  .wishes.screenshot);
}

TEST(OpenenvAction, HasTheMistakesOfTheStockModels) {
  EXPECT_EQ(json::serialize(first_mistake(read_action(object("{}")))),
            R"({"type":"missing","loc":["code"],"msg":"Field required","input":{}})");
  EXPECT_EQ(
      json::serialize(first_mistake(read_action(object(R"({"code":1})")))),
      R"({"type":"string_type","loc":["code"],"msg":"Input should be a valid string","input":1})");
  EXPECT_EQ(
      json::serialize(first_mistake(read_action(object(R"({"code":"","x":1})")))),
      R"({"type":"extra_forbidden","loc":["x"],"msg":"Extra inputs are not permitted","input":1})");
  EXPECT_EQ(first_mistake(read_action(object(R"({"code":"","timeout_s":0})"))).at("ctx"),
            json::value({{"gt", 0.0}}));
  EXPECT_EQ(first_mistake(read_action(object(R"({"code":"","metadata":1})"))).at("type"),
            "dict_type");
}

TEST(OpenenvAction, SaysWhatItsMetadataIsToHold) {
  const ObservationOptions wishes =
      action_of(R"({"code": "", "metadata": {"results": true, "usage": true}})").wishes;

  EXPECT_TRUE(wishes.results && wishes.usage && !wishes.screenshot);
  EXPECT_EQ(
      first_mistake(read_action(object(R"({"code": "", "metadata": {"usage": 1}})"))).at("loc"),
      json::value({"metadata", "usage"}));
}

TEST(OpenenvMistakes, AreFewAndShort) {
  json::object many;
  for (int i = 0; i < 1000; ++i) many["k" + std::to_string(i)] = std::string(10'000, 'x');
  many[std::string(100'000, 'k')] = 1;

  const json::array list = to_json(std::get<Mistakes>(read_action(many)));

  EXPECT_EQ(list.size(), 20u);
  EXPECT_LT(json::serialize(list).size(), 20'000u);
}

TEST(OpenenvBrief, CutsBetweenCharacters) {
  EXPECT_EQ(brief("short"), "short");
  EXPECT_EQ(brief(std::string(199, 'x') + "\xC3\xA9\xC3\xA9"), std::string(199, 'x') + "...");
}

TEST(OpenenvReset, TakesSeedsAsPydanticDoes) {
  const auto seed = [](const char* text) {
    return std::get<Reset>(read_reset(object(text), {"body"})).seed;
  };
  EXPECT_EQ(seed("{}"), std::nullopt);
  EXPECT_EQ(seed(R"({"seed": null})"), std::nullopt);
  EXPECT_EQ(seed(R"({"seed": 7, "x": 1})"), 7u);
  EXPECT_EQ(seed(R"({"seed": 18446744073709551615})"), 18446744073709551615u);
  EXPECT_EQ(seed(R"({"seed": "7"})"), 7u);
  EXPECT_EQ(seed(R"({"seed": 7.0})"), 7u);
  EXPECT_EQ(seed(R"({"seed": true})"), 1u);
  EXPECT_TRUE(seed(R"({"seed": 1e300})"));
}

TEST(OpenenvReset, ChoosesThePolicy) {
  const auto policy = [](const char* text) {
    return std::get<Reset>(read_reset(object(text), {"body"})).policy;
  };
  EXPECT_EQ(policy("{}"), std::nullopt);
  EXPECT_EQ(policy(R"({"executor_backend": null})"), std::nullopt);
  EXPECT_EQ(policy(R"({"executor_backend": "restrictedpython"})"), Policy::restricted);
  EXPECT_EQ(policy(R"({"executor_backend": "smolagents"})"), Policy::smolagents);
}

TEST(OpenenvReset, ChoosesTheEnvironment) {
  const auto environment = [](const char* text) {
    return std::get<Reset>(read_reset(object(text), {"body"})).environment;
  };

  EXPECT_EQ(environment(R"({})"), "");
  EXPECT_EQ(environment(R"({"environment": null})"), "");
  EXPECT_EQ(environment(R"({"environment": "ml"})"), "ml");
  EXPECT_EQ(environment(R"({"environment": "default"})"), "");
}

TEST(OpenenvReset, IsPlainIfAnySessionWillDo) {
  const auto plain = [](const char* text) {
    return std::get<Reset>(read_reset(object(text), {"body"})).is_plain();
  };

  EXPECT_TRUE(plain(R"({"episode_id": "a", "results": true, "environment": "default"})"));
  for (const char* wish :
       {R"({"seed": 1})", R"({"executor_backend": "smolagents"})", R"({"environment": "ml"})",
        R"({"additional_imports": ["numpy"]})", R"({"allow_sdist": true})"})
    EXPECT_FALSE(plain(wish)) << wish;
}

TEST(OpenenvReset, NamesWhatIsWrong) {
  const auto type = [](const char* text) {
    return first_mistake(read_reset(object(text), {"body"})).at("type");
  };
  EXPECT_EQ(type(R"({"seed": -1})"), "greater_than_equal");
  EXPECT_EQ(type(R"({"seed": "-1"})"), "greater_than_equal");
  EXPECT_EQ(type(R"({"seed": "x"})"), "int_parsing");
  EXPECT_EQ(type(R"({"seed": ""})"), "int_parsing");
  EXPECT_EQ(type(R"({"seed": 0.5})"), "int_from_float");
  EXPECT_EQ(type(R"({"seed": []})"), "int_type");
  EXPECT_EQ(type(R"({"episode_id": 1})"), "string_type");
  EXPECT_EQ(type(R"({"executor_backend": "wild"})"), "literal_error");
  EXPECT_EQ(type(R"({"executor_backend": 1})"), "literal_error");
  EXPECT_EQ(type(R"({"environment": 1})"), "string_type");
}

TEST(OpenenvReset, CountsTheCharactersOfAnEpisodesName) {
  std::string name;
  for (int i = 0; i < 255; ++i) name += "\xC3\xA9";
  json::object request{{"episode_id", name}};
  EXPECT_TRUE(std::holds_alternative<Reset>(read_reset(request, {})));

  request["episode_id"] = name + "x";
  EXPECT_EQ(first_mistake(read_reset(request, {})).at("type"), "string_too_long");
}

TEST(OpenenvStep, ReadsTheActionAndTheClientsPatience) {
  const auto read = read_step(object(R"({"action": {"code": "1"}, "timeout_s": 15, "x": 1})"));

  EXPECT_EQ(std::get<Step>(read).action.code, "1");
  EXPECT_EQ(std::get<Step>(read).timeout_s, 15.0);
}

TEST(OpenenvStep, SaysWhereItIsWrong) {
  EXPECT_EQ(first_mistake(read_step(object("{}"))).at("loc"), json::value({"body", "action"}));
  EXPECT_EQ(first_mistake(read_step(object(R"({"action": 1})"))).at("type"), "dict_type");
  EXPECT_EQ(first_mistake(read_step(object(R"({"action": {}})"))).at("loc"),
            json::value(json::array{"code"}));
}

TEST(OpenenvObservation, HasExactlyTheKeysOfTheStockModel) {
  EXPECT_EQ(to_json(Observation{}),
            R"({"observation":{"stdout":"","stderr":"","exit_code":0},"reward":0.0,"done":false})");
}

TEST(OpenenvObservation, WritesRewardsAsPythonDoes) {
  const auto written = [](std::optional<double> reward) {
    Observation seen;
    seen.reward = reward;
    return json::serialize(json::parse(to_json(seen)).at("reward")) +
           (to_json(seen).find(":-1.0,") != std::string::npos ? " as -1.0" : "");
  };
  EXPECT_NE(to_json(Observation{.reward = 0.1}).find("\"reward\":0.1,"), std::string::npos);
  EXPECT_NE(to_json(Observation{.reward = -1.2}).find("\"reward\":-1.2,"), std::string::npos);
  EXPECT_EQ(written(-1.0), "-1E0 as -1.0");
  EXPECT_EQ(written(std::nullopt), "null");
}

TEST(OpenenvObservation, HasWhatWasAskedFor) {
  Observation seen;
  seen.has_screenshot = true;
  seen.metadata["screenshot_error"] = "none";

  const json::value shown = json::parse(to_json(seen)).at("observation");
  seen.screenshot = "AAAA";

  EXPECT_TRUE(shown.at("screenshot").is_null());
  EXPECT_EQ(shown.at("metadata").at("screenshot_error"), "none");
  EXPECT_EQ(json::parse(to_json(seen)).at("observation").at("screenshot"), "AAAA");
}

TEST(OpenenvObservation, StaysBelowAMegabyteWhateverIsInIt) {
  for (const std::string part : {"x", "\x01", "\"", "\xF0\x9F\x98\x80", "\n"}) {
    std::string large;
    while (large.size() < 3'000'000) large += part;
    for (const auto& [out, err] : {std::pair(large, std::string()), std::pair(std::string(), large),
                                   std::pair(large, large)}) {
      Observation seen;
      seen.out = out;
      seen.err = err;

      const std::string text = to_json(seen);

      EXPECT_LT(text.size(), 1'000'000u + 300);
      EXPECT_GT(text.size(), 200'000u);
      EXPECT_NO_THROW(json::parse(text)) << "cut within a character";
    }
  }
}

TEST(OpenenvState, IsNullBeforeTheFirstReset) {
  EXPECT_EQ(to_json(State{}), R"({"episode_id":null,"step_count":0,"last_exit_code":0})");
  EXPECT_EQ(to_json(State{.episode = "a\"b", .steps = 2, .last_exit_code = 1}),
            R"({"episode_id":"a\"b","step_count":2,"last_exit_code":1})");
}

TEST(OpenenvSchema, ForbidsWhatTheStockModelsForbid) {
  const json::value schema = json::parse(schema_json());

  EXPECT_EQ(schema.at("action").at("additionalProperties"), false);
  EXPECT_EQ(schema.at("action").at("required"), json::value(json::array{"code"}));
  EXPECT_EQ(schema.at("observation").at("additionalProperties"), false);
  EXPECT_EQ(schema.at("state").at("additionalProperties"), true);
}

TEST(OpenEnvMessages, ReadsTheModulesThatAnEpisodeNeeds) {
  const auto read = [](const char* text) {
    return read_reset(json::parse(text).as_object(), {"body"});
  };

  EXPECT_TRUE(std::holds_alternative<Mistakes>(read(R"({"additional_imports": 7})")));
  const auto named = read(R"({"additional_imports": ["numpy"]})");
  ASSERT_TRUE(std::holds_alternative<Reset>(named));
  EXPECT_EQ(std::get<Reset>(named).imports, std::vector<std::string>{"numpy"});
}

}  // namespace
}  // namespace vitrine::api::openenv
