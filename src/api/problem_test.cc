// SPDX-License-Identifier: Apache-2.0
#include "api/problem.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace vitrine::api {
namespace {

namespace json = boost::json;

TEST(Problem, IsJsonWithAllItsFields) {
  const Problem problem = bad_field("limits.cpus", "it is \"odd\"\n", "send another");

  const json::object shown = json::parse(to_json(problem)).as_object();

  EXPECT_EQ(shown.at("type"), "about:blank");
  EXPECT_EQ(shown.at("title"), "Unprocessable Entity");
  EXPECT_EQ(shown.at("status"), 422);
  EXPECT_EQ(shown.at("code"), "invalid_field");
  EXPECT_EQ(shown.at("detail"), "limits.cpus: it is \"odd\"\n");
  EXPECT_EQ(shown.at("remedy"), "send another");
}

TEST(Problem, HasAStatusForEveryCode) {
  for (int code = 0; code <= static_cast<int>(Code::internal); ++code) {
    const Problem problem = problem_of(Error{static_cast<Code>(code), "why"});

    EXPECT_GE(static_cast<int>(problem.status), 400) << code;
    EXPECT_NE(problem.code, "") << code;
    EXPECT_EQ(problem.detail, "why");
  }
}

TEST(Problem, TellsThatTheKeeperIsWorthAnotherTry) {
  EXPECT_GT(problem_of(Error{Code::unavailable, "busy"}).retry_after_s, 0);
  EXPECT_EQ(problem_of(Error{Code::conflict, "no"}).retry_after_s, 0);
}

TEST(Problem, AlwaysHasARemedy) {
  for (int code = 0; code <= static_cast<int>(Code::internal); ++code)
    EXPECT_NE(problem_of(Error{static_cast<Code>(code), "why"}).remedy, "") << code;
  EXPECT_NE(not_found().remedy, "");
}

TEST(Problem, KeepsTheDetailOfTheLogOut) {
  const Error error{.code = Code::internal, .message = "it failed", .detail = "/secret/path"};

  EXPECT_EQ(to_json(problem_of(error)).find("secret"), std::string::npos);
}

TEST(Problem, TakesStatusAndCodeFromTheReason) {
  const Error error{.code = Code::unavailable,
                    .message = "enough",
                    .remedy = "wait",
                    .reason = "rate_limited",
                    .retry_after = std::chrono::seconds(7)};

  const Problem problem = problem_of(error);

  EXPECT_EQ(problem.status, http::status::too_many_requests);
  EXPECT_EQ(problem.code, "rate_limited");
  EXPECT_EQ(problem.detail, "enough");
  EXPECT_EQ(problem.remedy, "wait");
  EXPECT_EQ(problem.retry_after_s, 7);
}

TEST(Problem, FallsBackToTheCodeForAReasonThatItDoesNotKnow) {
  const Problem problem =
      problem_of(Error{.code = Code::conflict, .message = "no", .reason = "from_elsewhere"});

  EXPECT_EQ(problem.status, http::status::conflict);
  EXPECT_EQ(problem.code, "conflict");
}

}  // namespace
}  // namespace vitrine::api
