// SPDX-License-Identifier: Apache-2.0
#include "api/openapi.h"

#include <boost/json.hpp>

#include "api/schemas.h"

namespace vitrine::api {

namespace json = boost::json;

namespace {

json::object text(const char* description) {
  return {{"type", "string"}, {"description", description}};
}

// {path...} is {path} to OpenAPI.
std::string plain(std::string pattern) {
  if (const auto dots = pattern.find("...}"); dots != std::string::npos) pattern.erase(dots, 3);
  return pattern;
}

json::array parameters(const std::string& pattern) {
  json::array list;
  for (std::size_t at = pattern.find('{'); at != std::string::npos;
       at = pattern.find('{', at + 1)) {
    const std::size_t end = pattern.find('}', at);
    list.push_back(json::object{{"name", pattern.substr(at + 1, end - at - 1)},
                                {"in", "path"},
                                {"required", true},
                                {"schema", json::object{{"type", "string"}}}});
  }
  return list;
}

json::object content(std::string_view type, const Schema* schema) {
  json::object described;
  if (schema != nullptr)
    described["schema"] =
        json::object{{"$ref", "#/components/schemas/" + std::string(schema->name)}};
  return {{type, std::move(described)}};
}

json::object problems() {
  return {{"description", "an error, with a code to branch on and a remedy"},
          {"content", content("application/problem+json", &kProblem)}};
}

std::string description(const Operation& operation, const Route& route) {
  if (operation.status < 400) return route.summary;
  return operation.status == 422 ? "what is wrong with the body, field by field" : "an error";
}

// What the table says of a route: a row for each status and media type of its answers.
void describe(json::object& operation, const Route& route) {
  json::object responses{{"default", problems()}};
  for (const Operation& one : operations()) {
    if (one.method != route.method || one.pattern != route.pattern) continue;
    json::value& answer = responses[std::to_string(one.status)];
    if (answer.is_null()) answer = json::object{{"description", description(one, route)}};
    if (!one.content.empty()) {
      json::value& types = answer.as_object()["content"];
      if (types.is_null()) types = json::object{};
      for (auto& [type, described] : content(one.content, one.answer))
        types.as_object()[type] = std::move(described);
    }
    if (one.body == nullptr) continue;
    operation["requestBody"] = json::object{{"content", content("application/json", one.body)}};
    for (const Field& field : one.body->fields)
      if (field.presence == Presence::required)
        operation["requestBody"].as_object()["required"] = true;
  }
  operation["responses"] = std::move(responses);
}

// Names that generated clients of the sandbox VM's REST know.
const char* operation_id(const std::string& pattern) {
  if (pattern == "/health") return "health_check_health_get";
  if (pattern == "/screenshot") return "screenshot_endpoint_screenshot_get";
  if (pattern == "/record") return "record_record_get";
  return nullptr;
}

}  // namespace

std::string openapi_json(const Router& router, const std::string& version) {
  json::object paths;
  for (const Route& route : router.routes()) {
    const std::string pattern = plain(route.pattern);
    json::object operation{{"summary", route.summary}, {"parameters", parameters(pattern)}};
    describe(operation, route);
    if (pattern.ends_with("/screenshot"))
      for (const char* name : {"region", "window", "format", "scale", "wait", "max_ms", "cursor"})
        operation["parameters"].as_array().push_back(
            json::object{{"name", name}, {"in", "query"}, {"schema", text("docs/display.md")}});
    if (pattern == "/record")
      for (const char* name : {"mode", "fps", "format", "max_seconds", "max_mb"})
        operation["parameters"].as_array().push_back(
            json::object{{"name", name},
                         {"in", "query"},
                         {"required", std::string_view(name) == "mode"},
                         {"schema", text("docs/display.md")}});
    if (const char* id = operation_id(pattern)) operation["operationId"] = id;
    std::string method(http::to_string(route.method));
    for (char& c : method) c = static_cast<char>(std::tolower(c));
    if (!paths.contains(pattern)) paths[pattern] = json::object{};
    paths[pattern].as_object()[method] = std::move(operation);
  }
  json::object schemas;
  for (const Schema* schema : all_schemas()) schemas[schema->name] = json_schema(*schema);
  return json::serialize(
      json::object{{"openapi", "3.1.0"},
                   {"info", json::object{{"title", "Vitrine"}, {"version", "1." + version}}},
                   {"paths", std::move(paths)},
                   {"components", json::object{{"schemas", std::move(schemas)}}}});
}

}  // namespace vitrine::api
