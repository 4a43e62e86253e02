// SPDX-License-Identifier: Apache-2.0
// What the routes of other protocols take and answer: OpenEnv (api/openenv), and the sandbox VM's REST
// (api/sandbox_vm). Their parsers are their own, because their errors are those of their protocol.
#include <initializer_list>
#include <vector>

#include "api/schemas.h"

namespace vitrine::api {

using namespace row;

namespace {

constexpr auto kAnswer = Schema::Kind::answer;
constexpr auto kOpen = Schema::Kind::open_request;

Field always(std::string_view name, std::string_view help) {
  return required(text(name, 0, "", help));
}
Field maybe(std::string_view name, std::string_view help) {
  return nullable(text(name, 0, "", help));
}
Field wish(std::string_view name, std::string_view help) {
  return optional_nullable(flag(name, "`false`", help));
}
Field seconds(std::string_view name, std::string_view help) {
  return optional_nullable(number(name, 0, 0, "none", help));
}

const Schema kOptions{.name = "OpenEnvOptions",
                      .kind = kOpen,
                      .fields = {wish("capture_screenshot", "a screenshot in `metadata`"),
                                 wish("results", "MIME bundles in `metadata`"),
                                 wish("usage", "time and memory in `metadata`")}};

const Schema kResetBody{
    .name = "OpenEnvReset",
    .kind = kOpen,
    .fields = {
        optional_nullable(whole("seed", 0, 0, "none", "fixes the random generators")),
        optional_nullable(text("episode_id", 255, "a new one", "")),
        optional_nullable(choice("executor_backend", {"native", "restrictedpython", "smolagents"},
                                 "the server's policy", "")),
        optional_nullable(texts("additional_imports", 0, 100, 255, "modules, or requirements")),
        wish("allow_sdist", "whether packages may be built from source"),
        optional_nullable(text("environment", 255, "the plain one", "of the image")),
        wish("capture_screenshot", "of every step"), wish("results", "of every step"),
        wish("usage", "of every step")}};

const Schema kAction{.name = "OpenEnvAction",
                     .fields = {required(text("code", 0, "", "Python")),
                                object("metadata", &kOptions, "none", "of this step"),
                                wish("capture_screenshot", "a screenshot beside the output"),
                                seconds("render_timeout", "more than 0: for painting"),
                                seconds("timeout_s", "more than 0: for the code")}};
const Schema kStepBody{.name = "OpenEnvStep",
                       .kind = kOpen,
                       .fields = {required(object("action", &kAction, "", "")),
                                  seconds("timeout_s", "more than 0: the client gives up then")}};

const Schema kSeen{.name = "OpenEnvObservation",
                   .kind = kAnswer,
                   .fields = {always("stdout", ""), always("stderr", ""),
                              required(whole("exit_code", 0, 0, "", "")),
                              optional_nullable(text("screenshot", 0, "", "base64 PNG")),
                              object("metadata", nullptr, "", "if there is any")}};
const Schema kStepped{.name = "OpenEnvStepped",
                      .kind = kAnswer,
                      .fields = {required(object("observation", &kSeen, "", "")),
                                 nullable(number("reward", 0, 0, "", "")),
                                 required(flag("done", "", "always `false`"))}};
const Schema kState{.name = "OpenEnvState",
                    .kind = kAnswer,
                    .fields = {maybe("episode_id", ""), required(whole("step_count", 0, 0, "", "")),
                               required(whole("last_exit_code", 0, 0, "", ""))}};
const Schema kMetadata{
    .name = "OpenEnvMetadata",
    .kind = kAnswer,
    .fields = {always("name", ""), always("description", ""), maybe("readme_content", ""),
               always("version", ""), maybe("author", ""), maybe("documentation_url", "")}};
const Schema kSchemas{.name = "OpenEnvSchemas",
                      .kind = kAnswer,
                      .fields = {required(object("action", nullptr, "", "a JSON Schema")),
                                 required(object("observation", nullptr, "", "a JSON Schema")),
                                 required(object("state", nullptr, "", "a JSON Schema"))}};

const Schema kOneMistake{
    .name = "OpenEnvMistake",
    .kind = kAnswer,
    .fields = {always("type", "pydantic's name of it"),
               required(any("loc", "array of names and places: where it is")), always("msg", ""),
               required(any("input", "what was sent, or its beginning")),
               object("ctx", nullptr, "", "more, of some types")}};
const Schema kMistakes{.name = "OpenEnvMistakes",
                       .kind = kAnswer,
                       .fields = {required(list("detail", &kOneMistake, "at most 20"))}};
const Schema kFailure{
    .name = "OpenEnvFailure", .kind = kAnswer, .fields = {always("detail", "what went wrong")}};

const Schema kCall{
    .name = "RpcCall",
    .fields = {required(choice("jsonrpc", {"2.0"}, "", "")),
               required(text("method", 0, "",
                             "`openenv/session/create`, `openenv/session/close`, `tools/list` or "
                             "`tools/call`")),
               optional_nullable(object("params", nullptr, "none", "")),
               any("id", "comes back in the answer")}};
const Schema kRpcError{
    .name = "RpcError",
    .kind = kAnswer,
    .fields = {required(whole("code", 0, 0, "", "")), always("message", ""), any("data", "")}};
const Schema kRpcAnswer{.name = "RpcAnswer",
                        .kind = kAnswer,
                        .fields = {always("jsonrpc", "`2.0`"), required(any("id", "of the call")),
                                   object("result", nullptr, "", "of a call that succeeded"),
                                   object("error", &kRpcError, "", "of one that did not")}};

const Schema kScreenshotAnswer{
    .name = "ScreenshotAnswer",
    .kind = kAnswer,
    .fields = {required(choice("status", {"ok"}, "", "")), always("session", "the default session"),
               always("screenshot", "base64"), always("media_type", "of `screenshot`"),
               always("screenshot_path", "where another one can be taken"),
               required(any("screen_size", "[width, height]")),
               required(any("mouse_position", "[x, y]")), required(texts("notes", 0, 0, 0, ""))}};

}  // namespace

std::span<const Operation> operations_of_protocols() {
  using http::verb;
  static const std::vector<Operation> kOperations = [] {
    constexpr const char* kHtml = "text/html";
    std::vector<Operation> all{{verb::get, "/screenshot", nullptr, 200, &kScreenshotAnswer},
                               {verb::get, "/screenshot", nullptr, 200, nullptr, "image/png"},
                               {verb::get, "/screenshot", nullptr, 200, nullptr, "image/jpeg"},
                               {verb::get, "/screenshot", nullptr, 200, nullptr, "image/webp"},
                               {verb::get, "/record", nullptr, 200, &kRecordAnswer},
                               {verb::get, "/state", nullptr, 200, &kState},
                               {verb::get, "/web/state", nullptr, 200, &kState},
                               {verb::get, "/metadata", nullptr, 200, &kMetadata},
                               {verb::get, "/web/metadata", nullptr, 200, &kMetadata},
                               {verb::get, "/schema", nullptr, 200, &kSchemas},
                               {verb::post, "/mcp", &kCall, 200, &kRpcAnswer},
                               {verb::get, "/ws", nullptr, 101, nullptr, ""},
                               {verb::get, "/ws/ui", nullptr, 101, nullptr, ""},
                               {verb::get, "/mcp", nullptr, 101, nullptr, ""},
                               {verb::get, "/web", nullptr, 307, nullptr, ""},
                               {verb::get, "/web/", nullptr, 200, nullptr, kHtml},
                               {verb::get, "/docs", nullptr, 200, nullptr, kHtml},
                               {verb::get, "/redoc", nullptr, 200, nullptr, kHtml}};
    for (const char* path : {"/reset", "/web/reset", "/step", "/web/step"}) {
      const bool steps = std::string_view(path).ends_with("step");
      all.push_back({verb::post, path, steps ? &kStepBody : &kResetBody, 200, &kStepped});
      all.push_back({verb::post, path, nullptr, 422, &kMistakes});
      for (unsigned status : {400u, 413u, 500u, 503u})
        all.push_back({verb::post, path, nullptr, status, &kFailure});
    }
    return all;
  }();
  return kOperations;
}

}  // namespace vitrine::api
