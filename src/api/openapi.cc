// SPDX-License-Identifier: Apache-2.0
#include "api/openapi.h"

#include <boost/json.hpp>

namespace vitrine::api {

namespace json = boost::json;

namespace {

json::object text(const char* description) {
  return {{"type", "string"}, {"description", description}};
}

json::object names(const char* description) {
  return {{"type", "array"}, {"maxItems", 100}, {"items", text(description)}};
}

json::object schema_network_entry() {
  return {{"type", "object"},
          {"properties",
           json::object{
               {"host", text("as it was asked for")},
               {"port", json::object{{"type", "integer"}}},
               {"decision", json::object{{"type", "string"},
                                         {"enum", json::array{"allowed", "refused", "failed"}}}},
               {"reason", text("for people and models")},
               {"address", json::object{{"type", json::array{"string", "null"}}}},
               {"sent", json::object{{"type", "integer"}}},
               {"received", json::object{{"type", "integer"}}}}}};
}

json::object schema_execution() {
  return {
      {"type", "object"},
      {"required", json::array{"id", "outcome", "exit_code", "stdout", "stderr", "truncated",
                               "results", "error", "state_kept", "notes", "usage"}},
      {"properties",
       json::object{
           {"id", text("128-bit id")},
           {"outcome", json::object{{"type", "string"},
                                    {"enum", json::array{"ok", "exception", "policy", "interrupted",
                                                         "timeout", "oom", "crashed"}}}},
           {"exit_code", json::object{{"type", "integer"}}},
           {"stdout", text("UTF-8; head and tail when truncated")},
           {"stderr", text("as stdout")},
           {"truncated", json::object{{"type", "object"}}},
           {"results",
            json::object{{"type", "array"}, {"items", json::object{{"type", "object"}}}}},
           {"error", json::object{{"type", json::array{"object", "null"}}}},
           {"state_kept", json::object{{"type", "boolean"}}},
           {"notes", json::object{{"type", "array"}}},
           {"screenshot", json::object{{"type", json::array{"string", "null"}},
                                       {"description", "base64 PNG; only when asked for"}}},
           {"frames", json::object{{"type", "array"},
                                   {"description", "pictures while it ran; only when asked for"}}},
           {"usage", json::object{{"type", "object"}}},
           {"network", json::object{{"type", "array"}, {"items", schema_network_entry()}}},
           {"network_omitted", json::object{{"type", "integer"}}}}}};
}

json::object schema_exec() {
  return {{"type", "object"},
          {"required", json::array{"code"}},
          {"additionalProperties", false},
          {"properties",
           json::object{
               {"code", text("Python")},
               {"timeout_s", json::object{{"type", "number"}}},
               {"stdin", text("what input() and sys.stdin read")},
               {"env", json::object{{"type", "object"}}},
               {"capture_screenshot", json::object{{"type", "boolean"},
                                                   {"description",
                                                    "a picture of the screen, as base64 PNG in "
                                                    "`screenshot`"}}},
               {"capture", json::object{{"type", "object"},
                                        {"description",
                                         "pictures while it runs: every_ms or on_change, max; "
                                         "docs/display.md"}}},
               {"render_timeout", json::object{{"type", "number"}}},
               {"display_time", json::object{{"type", "number"}}},
               {"on_disconnect", json::object{{"type", "string"},
                                              {"enum", json::array{"interrupt", "continue"}}}}}}};
}

json::object schema_session() {
  json::object limits;
  for (const char* name : {"memory_mb", "cpus", "processes", "disk_mb", "output_kb",
                           "exec_timeout_s", "idle_timeout_s"})
    limits[name] = json::object{{"type", "number"}};
  return {
      {"type", "object"},
      {"additionalProperties", false},
      {"properties",
       json::object{
           {"name", text("for people")},
           {"isolation", text("process")},
           {"policy", json::object{{"type", "string"},
                                   {"enum", json::array{"native", "restricted", "restrictedpython",
                                                        "smolagents"}}}},
           {"packages", names("requirement strings, such as polars==1.*; docs/packages.md")},
           {"imports", names("modules that it will import, such as cv2")},
           {"environment", text("one of those that GET /v1/info names")},
           {"allow_sdist",
            json::object{
                {"type", "boolean"},
                {"description", "build packages that have only a source distribution, in a jail"}}},
           {"env", json::object{{"type", "object"}}},
           {"seed", json::object{{"type", "integer"}}},
           {"display", json::object{{"type", "object"},
                                    {"properties",
                                     json::object{{"width", json::object{{"type", "integer"}}},
                                                  {"height", json::object{{"type", "integer"}}}}}}},
           {"network",
            json::object{
                {"type", "object"},
                {"required", json::array{"allow"}},
                {"additionalProperties", false},
                {"properties",
                 json::object{{"allow", json::object{{"type", "array"},
                                                     {"minItems", 1},
                                                     {"maxItems", 64},
                                                     {"items", text("HOST or HOST:PORT; see "
                                                                    "docs/network.md")}}}}}}},
           {"limits", json::object{{"type", "object"}, {"properties", std::move(limits)}}}}}};
}

json::object schema_recording() {
  const auto whole = [](int least, int most, int otherwise) {
    return json::object{
        {"type", "integer"}, {"minimum", least}, {"maximum", most}, {"default", otherwise}};
  };
  return {{"type", "object"},
          {"additionalProperties", false},
          {"properties",
           json::object{{"fps", whole(1, 60, 15)},
                        {"format", json::object{{"type", "string"},
                                                {"enum", json::array{"mp4", "webm", "gif", "apng"}},
                                                {"default", "mp4"}}},
                        {"max_seconds", whole(1, 3600, 300)},
                        {"max_mb", whole(1, 1024, 64)}}}};
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

json::object body(const char* schema) {
  return {{"content",
           json::object{
               {"application/json",
                json::object{{"schema", json::object{{"$ref", std::string("#/components/schemas/") +
                                                                  schema}}}}}}}};
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
    json::object operation{
        {"summary", route.summary},
        {"parameters", parameters(pattern)},
        {"responses", json::object{{"default", json::object{{"description",
                                                             "as docs/api.md says; errors are "
                                                             "application/problem+json"}}}}}};
    if (route.method == http::verb::post && pattern == "/v1/sessions")
      operation["requestBody"] = body("Session");
    if (route.method == http::verb::post && pattern.ends_with("/recordings"))
      operation["requestBody"] = body("Recording");
    if (pattern.ends_with("/exec")) operation["requestBody"] = body("Exec");
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
  return json::serialize(json::object{
      {"openapi", "3.1.0"},
      {"info", json::object{{"title", "Vitrine"}, {"version", "1." + version}}},
      {"paths", std::move(paths)},
      {"components", json::object{{"schemas", json::object{{"Execution", schema_execution()},
                                                           {"Exec", schema_exec()},
                                                           {"Recording", schema_recording()},
                                                           {"Session", schema_session()}}}}}});
}

}  // namespace vitrine::api
