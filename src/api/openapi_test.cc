// SPDX-License-Identifier: Apache-2.0
#include "api/openapi.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace vitrine::api {
namespace {

namespace json = boost::json;

json::object described(http::verb method, const char* pattern, const char* word) {
  Router router;
  router.add({method, pattern, "a summary", Access::ordinary, {}});
  const json::value document = json::parse(openapi_json(router, "0"));
  return document.at("paths").at(pattern).at(word).as_object();
}

TEST(OpenApi, NamesEveryMediaTypeOfAnAnswer) {
  const json::object operation = described(http::verb::get, "/screenshot", "get");

  const json::object& content = operation.at("responses").at("200").at("content").as_object();
  EXPECT_EQ(content.at("application/json").at("schema").at("$ref").as_string(),
            "#/components/schemas/ScreenshotAnswer");
  for (const char* type : {"image/png", "image/jpeg", "image/webp"})
    EXPECT_TRUE(content.contains(type)) << type;
}

TEST(OpenApi, DescribesTheBodyAndTheErrorsOfAnotherProtocol) {
  const json::object operation = described(http::verb::post, "/step", "post");

  EXPECT_EQ(operation.at("requestBody").at("required").as_bool(), true);
  const json::object& responses = operation.at("responses").as_object();
  for (const char* status : {"200", "422", "503", "default"})
    EXPECT_TRUE(responses.contains(status)) << status;
  EXPECT_EQ(responses.at("200").at("description").as_string(), "a summary");
  EXPECT_NE(responses.at("422").at("description").as_string(), "a summary");
}

}  // namespace
}  // namespace vitrine::api
