// SPDX-License-Identifier: Apache-2.0
#include "api/fields.h"

#include <gtest/gtest.h>

namespace vitrine::api {
namespace {

std::optional<Problem> refused(const std::string& text, EmptyBody empty = EmptyBody::is_error) {
  auto parsed = parse_object(text, empty);
  if (auto* problem = std::get_if<Problem>(&parsed)) return *problem;
  return std::nullopt;
}

json::object object(const std::string& text) {
  return std::get<json::object>(parse_object(text, EmptyBody::is_error));
}

TEST(ParseObject, TakesAnObject) { EXPECT_EQ(object(R"( {"a": [1, {"b": null}]} )").size(), 1u); }

TEST(ParseObject, TakesAnEmptyBodyWhereItIsAllowed) {
  EXPECT_FALSE(refused(" \r\n", EmptyBody::is_object));
  EXPECT_TRUE(refused(""));
}

TEST(ParseObject, RefusesWhatIsNoObjectWithARemedy) {
  for (const char* text : {"[]", "1", "null", "{", "{} {}", "{'a': 1}", R"({"a": 1,})", "nonsense",
                           "{\"a\": \"\xff\"}", R"({"a": "\ud800"})", "\xef\xbb\xbf{}"}) {
    const auto problem = refused(text);
    ASSERT_TRUE(problem) << text;
    EXPECT_EQ(problem->status, http::status::bad_request);
    EXPECT_EQ(problem->code, "invalid_json");
    EXPECT_NE(problem->remedy, "");
  }
}

TEST(ParseObject, RefusesTooMuchDepth) {
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };

  EXPECT_FALSE(refused(nested(30)));
  EXPECT_TRUE(refused(nested(40)));
  EXPECT_TRUE(refused(nested(100'000)));
}

TEST(ParseObject, FindsEqualKeysHoweverTheyAreWritten) {
  for (const char* text :
       {R"({"a": 1, "a": 2})", R"({"a": 1, "\u0061": 2})", R"({"x": [{"b": {"c": 1, "c": 2}}]})",
        R"({"\n": 1, "\u000a": 2})", R"({"q\"": 1, "q\u0022": 2})", R"({"ü": 1, "\u00fc": 2})"})
    EXPECT_TRUE(refused(text)) << text;
  for (const char* text :
       {R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]})",
        R"({"a": "a", "b": "{\"a\": 1, \"a\": 2}"})", R"({"a": 1, "\\u0061": 2})"})
    EXPECT_FALSE(refused(text)) << text;
}

TEST(Fields, ReadWhatIsThereAndLeaveOutWhatIsNot) {
  const json::object in =
      object(R"({"text": "t", "number": 1.5, "whole": 3.0, "flag": true, "null": null})");
  Fields fields(in);

  EXPECT_EQ(fields.text("text", 10), "t");
  EXPECT_EQ(fields.number("number", 0, 2), 1.5);
  EXPECT_EQ(fields.whole("whole", 0, 5), 3u);
  EXPECT_EQ(fields.flag("flag"), true);
  EXPECT_EQ(fields.text("null", 10), std::nullopt);
  EXPECT_EQ(fields.text("absent", 10), std::nullopt);
  EXPECT_FALSE(fields.problem());
}

TEST(Fields, NameTheFieldThatIsWrong) {
  const json::object in = object(
      R"({"text": 1, "long": "123456", "number": 5, "whole": 1.5, "negative": -1, "flag": 1,
          "list": {}, "object": [], "texts": {"k": 1}, "choice": "c"})");
  const auto problem_of = [&](auto read) {
    Fields fields(in, "outer.");
    read(fields);
    return fields.problem()->detail;
  };

  EXPECT_TRUE(problem_of([](Fields& f) { f.text("text", 9); }).starts_with("outer.text: "));
  EXPECT_TRUE(problem_of([](Fields& f) { f.text("long", 5); }).starts_with("outer.long: "));
  EXPECT_TRUE(problem_of([](Fields& f) { f.number("number", 0, 2); }).starts_with("outer.number"));
  EXPECT_TRUE(problem_of([](Fields& f) { f.whole("whole", 0, 9); }).starts_with("outer.whole"));
  EXPECT_TRUE(
      problem_of([](Fields& f) { f.whole("negative", 0, 9); }).starts_with("outer.negative"));
  EXPECT_TRUE(problem_of([](Fields& f) { f.flag("flag"); }).starts_with("outer.flag"));
  EXPECT_TRUE(problem_of([](Fields& f) { f.array("list"); }).starts_with("outer.list"));
  EXPECT_TRUE(problem_of([](Fields& f) { f.object("object"); }).starts_with("outer.object"));
  EXPECT_TRUE(problem_of([](Fields& f) { f.texts("texts"); }).starts_with("outer.texts"));
  EXPECT_TRUE(problem_of([](Fields& f) {
                f.choice("choice", {"a", "b"});
              }).starts_with("outer.choice"));
}

TEST(Fields, KeepTheFirstMistake) {
  const json::object in = object(R"({"a": 1, "b": 2})");
  Fields fields(in);

  fields.text("b", 9);
  fields.text("a", 9);

  EXPECT_TRUE(fields.problem()->detail.starts_with("b: "));
}

TEST(Fields, RefuseAFieldThatNobodyAskedForAndNameTheKnown) {
  const json::object in = object(R"({"known": 1, "typo": 2})");
  Fields fields(in);

  fields.number("known", 0, 9);
  const auto problem = fields.problem();

  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->status, http::status::unprocessable_entity);
  EXPECT_EQ(problem->code, "invalid_field");
  EXPECT_TRUE(problem->detail.starts_with("typo: "));
  EXPECT_NE(problem->remedy.find("known"), std::string::npos);
}

}  // namespace
}  // namespace vitrine::api
