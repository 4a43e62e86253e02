// SPDX-License-Identifier: Apache-2.0
#include "api/router.h"

#include <gtest/gtest.h>

namespace vitrine::api {
namespace {

using http::verb;

Router some_routes() {
  Router router;
  for (const auto& [method, pattern] :
       std::vector<std::pair<verb, const char*>>{{verb::get, "/health"},
                                                 {verb::get, "/v1/sessions/{id}"},
                                                 {verb::delete_, "/v1/sessions/{id}"},
                                                 {verb::get, "/v1/sessions/{id}/files"},
                                                 {verb::get, "/v1/sessions/{id}/files/{path...}"}})
    router.add({.method = method,
                .pattern = pattern,
                .summary = "",
                .access = Access::ordinary,
                .handler = {}});
  return router;
}

std::string found(verb method, const std::string& path) {
  const Router router = some_routes();
  const Router::Match match = router.find(method, path);
  if (match.route == nullptr) return "";
  std::string text = match.route->pattern;
  for (const std::string& one : match.parameters) text += " [" + one + "]";
  return text;
}

TEST(Router, FindsLiteralsSegmentsAndRests) {
  EXPECT_EQ(found(verb::get, "/health"), "/health");
  EXPECT_EQ(found(verb::get, "/v1/sessions/a"), "/v1/sessions/{id} [a]");
  EXPECT_EQ(found(verb::get, "/v1/sessions/a/files"), "/v1/sessions/{id}/files [a]");
  EXPECT_EQ(found(verb::get, "/v1/sessions/a/files/b/c"),
            "/v1/sessions/{id}/files/{path...} [a] [b/c]");
}

TEST(Router, LeavesTheRestAsItIs) {
  EXPECT_EQ(found(verb::get, "/v1/sessions/a/files//b/"),
            "/v1/sessions/{id}/files/{path...} [a] [/b/]");
  EXPECT_EQ(found(verb::get, "/v1/sessions/a/files/"), "/v1/sessions/{id}/files/{path...} [a] []");
}

TEST(Router, TakesTheFirstOfSeveralThatMatch) {
  Router router;
  const auto add = [&](verb method, const char* pattern) {
    router.add({.method = method,
                .pattern = pattern,
                .summary = "",
                .access = Access::ordinary,
                .handler = {}});
  };
  add(verb::get, "/a/{id}");
  add(verb::get, "/a/b");
  add(verb::post, "/a/b");
  add(verb::get, "/a/{path...}");

  EXPECT_EQ(router.find(verb::get, "/a/b").route->pattern, "/a/{id}");
  EXPECT_EQ(router.find(verb::post, "/a/b").route->pattern, "/a/b");
  EXPECT_EQ(router.find(verb::get, "/a/b/c").route->pattern, "/a/{path...}");
  EXPECT_EQ(router.find(verb::get, "/a").route, nullptr);
  EXPECT_EQ(router.find(verb::put, "/a/b").allowed,
            (std::vector<verb>{verb::get, verb::get, verb::post, verb::get}));
}

// A recursion over a hostile path would go as deep as its segments.
TEST(Router, GoesNoDeeperThanItsPatterns) {
  std::string path;
  for (int i = 0; i < 100'000; ++i) path += "/a";

  EXPECT_EQ(found(verb::get, path), "");
}

TEST(Router, AnswersHeadWhereItAnswersGet) { EXPECT_EQ(found(verb::head, "/health"), "/health"); }

TEST(Router, FindsNothingBesideItsPatterns) {
  for (const char* path : {"/", "/healthy", "/health/", "/v1/sessions", "/v1/sessions/a/other"})
    EXPECT_EQ(found(verb::get, path), "") << path;
}

TEST(Router, SaysWhichMethodsAPathTakes) {
  const Router router = some_routes();

  const Router::Match match = router.find(verb::put, "/v1/sessions/a");

  EXPECT_EQ(match.route, nullptr);
  EXPECT_EQ(match.allowed, (std::vector<verb>{verb::get, verb::delete_}));
  EXPECT_TRUE(router.find(verb::put, "/nowhere").allowed.empty());
}

}  // namespace
}  // namespace vitrine::api
