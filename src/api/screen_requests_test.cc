// SPDX-License-Identifier: Apache-2.0
#include "api/screen_requests.h"

#include <gtest/gtest.h>

namespace vitrine::api {

namespace {

using Query = std::map<std::string, std::string>;

TEST(PictureQuery, IsThePlainScreenByDefault) {
  const auto read = read_picture_query({});

  const auto& query = std::get<service::PictureQuery>(read);
  EXPECT_FALSE(query.region || query.wait_still || query.cursor || !query.window.empty());
  EXPECT_EQ(query.format, display::Format::png);
  EXPECT_EQ(query.scale, 1);
}

TEST(PictureQuery, ReadsEveryParameter) {
  const auto read = read_picture_query({{"region", "-1,2,30,40"},
                                        {"window", "main"},
                                        {"format", "webp"},
                                        {"scale", "0.25"},
                                        {"wait", "still"},
                                        {"max_ms", "250"},
                                        {"cursor", "true"}});

  const auto& query = std::get<service::PictureQuery>(read);
  EXPECT_EQ(query.region->x, -1);
  EXPECT_EQ(query.region->height, 40);
  EXPECT_EQ(query.window, "main");
  EXPECT_EQ(query.format, display::Format::webp);
  EXPECT_EQ(query.scale, 0.25);
  EXPECT_TRUE(query.wait_still && query.cursor);
  EXPECT_EQ(query.most.count(), 250);
}

TEST(PictureQuery, RefusesWhatMakesNoSense) {
  for (const Query& query :
       {Query{{"region", "1,2,3"}}, Query{{"region", "1,2,3,4,5"}}, Query{{"region", "0,0,0,1"}},
        Query{{"region", "0,0,99999999999,1"}}, Query{{"scale", "inf"}}, Query{{"scale", "1.5"}},
        Query{{"scale", "nan"}}, Query{{"format", "bmp"}}, Query{{"wait", ""}},
        Query{{"max_ms", "1e3"}}, Query{{"x", "1"}}})
    EXPECT_TRUE(std::holds_alternative<Problem>(read_picture_query(query)))
        << query.begin()->first << "=" << query.begin()->second;
}

std::optional<Problem> problem_of_input(const char* text) {
  const auto parsed = json::parse(text).as_object();
  Fields fields(parsed);
  (void)read_input(fields);
  return fields.problem();
}

TEST(InputRequest, NamesTheEventThatIsWrong) {
  EXPECT_FALSE(problem_of_input(R"({"events": [{"type": "click", "x": 1, "y": 2, "button": 3},
    {"type": "drag", "x": 1, "y": 2, "to_x": 3, "to_y": 4}, {"type": "text", "text": "hi"},
    {"type": "key", "key": "Return"}, {"type": "scroll", "dy": -2}, {"type": "wait", "ms": 5},
    {"type": "mouse_down"}, {"type": "mouse_up"}, {"type": "close"}]})"));

  const auto problem =
      problem_of_input(R"({"events": [{"type": "wait"}, {"type": "move", "x": 1}]})");
  ASSERT_TRUE(problem);
  EXPECT_TRUE(problem->detail.starts_with("events[1].y: ")) << problem->detail;
  EXPECT_TRUE(problem_of_input(R"({"events": []})"));
  EXPECT_TRUE(problem_of_input(R"({"events": [1]})"));
  EXPECT_TRUE(problem_of_input(R"({"events": [{"type": "click", "x": 1e9, "y": 0}]})"));
}

TEST(InputRequest, KnowsWhereThePointerEnds) {
  const auto parsed = json::parse(R"({"events": [{"type": "move", "x": 1, "y": 2},
    {"type": "click", "x": 5, "y": 6}, {"type": "click"}, {"type": "key", "key": "a"}]})")
                          .as_object();
  Fields fields(parsed);

  const auto pointer = service::pointer_after(read_input(fields));

  ASSERT_TRUE(pointer);
  EXPECT_EQ(*pointer, (wire::screen::Point{5, 6}));
}

}  // namespace

}  // namespace vitrine::api
