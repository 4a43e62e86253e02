// SPDX-License-Identifier: Apache-2.0
// What the native API answers, and which of its routes takes and answers what.
#include <algorithm>
#include <array>

#include "api/schemas.h"

namespace vitrine::api {

using namespace row;

namespace {

constexpr auto kAnswer = Schema::Kind::answer;

Field id(std::string_view name, std::string_view help) { return required(text(name, 0, "", help)); }
Field count(std::string_view name, std::string_view help) {
  return required(whole(name, 0, 0, "", help));
}
Field amount(std::string_view name, std::string_view help) {
  return required(number(name, 0, 0, "", help));
}
Field yes_or_no(std::string_view name, std::string_view help) {
  return required(flag(name, "", help));
}
Field strings(std::string_view name, std::string_view help) {
  return required(texts(name, 0, 0, 0, help));
}

const Schema kLimitsView{
    .name = "LimitsView",
    .kind = kAnswer,
    .fields = {count("memory_mb", ""), amount("cpus", ""), count("processes", ""),
               count("disk_mb", ""), count("output_kb", ""), amount("exec_timeout_s", ""),
               amount("idle_timeout_s", ""), amount("install_timeout_s", "")}};
const Schema kDisplayView{
    .name = "DisplayView", .kind = kAnswer, .fields = {count("width", ""), count("height", "")}};
const Schema kNetworkView{.name = "NetworkView", .kind = kAnswer, .fields = {strings("allow", "")}};
const Schema kDeath{
    .name = "Death",
    .kind = kAnswer,
    .fields = {required(choice("cause", {"exited", "signalled", "oom", "timeout", "killed"}, "",
                               "why its process is gone")),
               count("code", "exit status or signal")}};
const Schema kTruncated{.name = "Truncated",
                        .kind = kAnswer,
                        .fields = {yes_or_no("stdout", ""), yes_or_no("stderr", "")}};
const Schema kExecError{
    .name = "ExecutionError",
    .kind = kAnswer,
    .fields = {id("name", "of the exception"), id("value", "its text"), id("traceback", "")}};
const Schema kUsage{
    .name = "Usage",
    .kind = kAnswer,
    .fields = {amount("wall_ms", ""), amount("cpu_ms", "of all processes of the session meanwhile"),
               count("peak_memory_kb", "the most that the session has used up to now")}};
const Schema kNetworkEntry{
    .name = "NetworkEntry",
    .kind = kAnswer,
    .fields = {id("host", "as it was requested"), count("port", ""),
               required(choice("decision", {"allowed", "refused", "failed"}, "", "")),
               id("reason", "for people and models"), nullable(text("address", 0, "", "")),
               count("sent", "bytes"), count("received", "bytes")}};
const Schema kFrame{
    .name = "CapturedFrame",
    .kind = kAnswer,
    .fields = {count("at_ms", "since the code began"), count("stdout_offset", "printed until then"),
               nullable(whole("line", 0, 0, "", "of the code, which ran then")),
               id("image", "base64 PNG")}};

const std::vector<std::string_view> kOutcomes{"ok",      "exception", "policy", "interrupted",
                                              "timeout", "oom",       "crashed"};

}  // namespace

const Schema kSessionView{
    .name = "SessionView",
    .kind = kAnswer,
    .fields = {
        id("id", "32 hex digits"), id("name", ""),
        required(choice("state", {"ready", "busy", "frozen", "dead"}, "",
                        "`frozen`: idle for half its `idle_timeout_s`; the next execution "
                        "wakes it")),
        id("isolation", ""), id("policy", ""), id("created_at", "RFC 3339"),
        required(object("limits", &kLimitsView, "", "")),
        required(object("display", &kDisplayView, "", "")),
        strings("notes", "remarks about the session"),
        strings("packages",
                "what is installed in it beyond image and environment: `\"polars==1.31.0\"`"),
        object("network", &kNetworkView, "", "if it was given"),
        text("environment", 0, "", "if it was given"), whole("seed", 0, 0, "", "if it was given"),
        object("death", &kDeath, "", "of a dead session")}};

const Schema kSessionPage{
    .name = "SessionPage",
    .kind = kAnswer,
    .fields = {required(list("sessions", &kSessionView, "oldest first")),
               nullable(text("next", 0, "", "`?after=NEXT` is the next page"))}};

const Schema kExecution{
    .name = "Execution",
    .kind = kAnswer,
    .fields = {
        id("id", "32 hex digits"), id("session", ""),
        required(choice("state", {"finished"}, "", "")), id("started_at", "RFC 3339"),
        required(choice("outcome", kOutcomes, "", "[outcomes.md](outcomes.md)")),
        count("exit_code", ""),
        id("stdout",
           "invalid UTF-8 becomes U+FFFD; head and tail with a line `... N bytes left out "
           "...` between them where it was longer than `output_kb`"),
        id("stderr", "as stdout"),
        required(object("truncated", &kTruncated, "", "whether output was left out")),
        required(list("results", nullptr,
                      "MIME bundles in order of appearance: values of last expressions, "
                      "`display()`, figures. Text types are strings, `*json` types are JSON, "
                      "everything else is base64")),
        nullable(object("error", &kExecError, "", "the exception")),
        yes_or_no("state_kept", "whether the variables still exist"),
        optional_nullable(text("screenshot", 0, "",
                               "base64 PNG; null if none could be taken; only with "
                               "`capture_screenshot`")),
        list("frames", &kFrame, "only with `capture`, and not in the history"),
        strings("notes", "remarks about the execution; at most 64"),
        required(object("usage", &kUsage, "", "0 where the host does not measure")),
        list("network", &kNetworkEntry,
             "only of sessions with a `network`: each connection that was requested"),
        whole("network_omitted", 0, 0, "", "connections that are not listed"),
        text("code", 0, "", "in the history")}};

namespace {

const Schema kPastExecution{
    .name = "PastExecution",
    .kind = kAnswer,
    .fields = {id("id", ""), id("session", ""),
               required(choice("state", {"finished", "running", "lost"}, "",
                               "a finished one has all fields of an Execution")),
               id("started_at", ""), id("code", "")}};

}  // namespace

const Schema kExecutionPage{
    .name = "ExecutionPage",
    .kind = kAnswer,
    .fields = {required(list("executions", &kPastExecution, "newest first")),
               nullable(text("next", 0, "", "`?after=NEXT` is the next page"))}};

const Schema kStack{
    .name = "Stack",
    .kind = kAnswer,
    .fields = {yes_or_no("running", ""), nullable(text("execution", 0, "", "the one that runs")),
               nullable(text("stack", 0, "",
                             "innermost call first; null = it did not answer "
                             "within a second"))}};

const Schema kRecordingView{
    .name = "RecordingView",
    .kind = kAnswer,
    .fields = {id("id", ""), id("session", ""),
               required(choice("state", {"recording", "ended"}, "", "")),
               required(choice("format", {"mp4", "webm", "gif", "apng"}, "", "")), id("codec", ""),
               count("width", ""), count("height", ""), count("fps", ""), count("max_seconds", ""),
               count("max_mb", ""), id("started_at", ""), count("frames", ""),
               amount("seconds", ""), count("bytes", ""), nullable(text("ended_at", 0, "", "")),
               nullable(text("reason", 0, "", "why it ended")),
               nullable(text("detail", 0, "", "for people"))}};
const Schema kRecordingList{.name = "RecordingList",
                            .kind = kAnswer,
                            .fields = {required(list("recordings", &kRecordingView, ""))}};

// Of the sandbox VM's /record.
const Schema kRecordAnswer{
    .name = "RecordAnswer", .kind = kAnswer, .fields = [] {
      std::vector<Field> fields = kRecordingView.fields;
      fields.push_back(required(choice("status", {"recording", "stopped"}, "", "")));
      fields.push_back(id("screen_recording_file", "where it can be downloaded"));
      return fields;
    }()};

const Schema kStoredFile{
    .name = "StoredFile", .kind = kAnswer, .fields = {id("path", ""), count("size", "bytes")}};

namespace {

const Schema kFileEntry{
    .name = "FileEntry",
    .kind = kAnswer,
    .fields = {id("name", ""),
               required(choice("type", {"file", "directory", "link", "other"}, "", "")),
               count("size", "bytes"), count("modified_ms", "since 1970")}};
const Schema kLayer{.name = "Layer",
                    .kind = kAnswer,
                    .fields = {id("id", ""), count("bytes", ""), count("files", ""),
                               yes_or_no("in_use", "by a session"), count("last_used", ""),
                               yes_or_no("shadows_image", "it comes before the image's versions"),
                               strings("packages", "pins")}};
const Schema kWindow{
    .name = "Window",
    .kind = kAnswer,
    .fields = {count("id", ""), id("title", ""), count("x", ""), count("y", ""), count("width", ""),
               count("height", ""), yes_or_no("mapped", ""),
               yes_or_no("active", "has the keyboard"), yes_or_no("menu", "a menu or a tooltip"),
               count("z", "0 is the lowest"),
               nullable(whole("parent", 0, 0, "", "the window a dialog belongs to"))}};
const Schema kScreenState{
    .name = "ScreenState",
    .kind = kAnswer,
    .fields = {yes_or_no("running", ""), count("width", ""), count("height", "")}};
const Schema kProcesses{.name = "Processes",
                        .kind = kAnswer,
                        .fields = {count("keeper", "pid"), count("front", "pid"),
                                   count("builder", "pid; -1 = there is none"),
                                   count("foundation", "pid; -1 = there is none")}};
const Schema kIsolation{
    .name = "Isolation",
    .kind = kAnswer,
    .fields = {required(choice("level", {"full", "container"}, "", "")),
               required(choice("floor", {"full", "container"}, "", "the least that is allowed")),
               strings("lost", "what the level has less than `full`"), yes_or_no("privileged", ""),
               id("cgroups", ""),
               required(choice("limits_level", {"enforced", "best_effort"}, "", "")),
               strings("best_effort", "limits that are not enforced over all processes"),
               id("memory", "what enforces the limit"), id("processes", ""), id("cpu", ""),
               count("landlock_abi", "")}};
const Schema kPools{.name = "Pools",
                    .kind = kAnswer,
                    .fields = {count("bare", ""), count("loaded", ""), count("seeded", ""),
                               count("empty", ""), count("recycled", "")}};
const Schema kZygote{
    .name = "Zygote",
    .kind = kAnswer,
    .fields = {required(choice("variant", {"bare", "loaded", "seeded"}, "", "")),
               id("environment", ""), id("policy", ""), count("pid", ""), yes_or_no("warm", ""),
               count("forks", ""), count("alive", "workers")}};
const Schema kEnvironment{.name = "Environment",
                          .kind = kAnswer,
                          .fields = {id("name", ""), texts("variants", 0, 0, 0, ""),
                                     texts("preload", 0, 0, 0, "modules that are imported")}};
const Schema kHealth{.name = "Health", .kind = kAnswer, .fields = {id("status", "`healthy`")}};
const Schema kEgress{
    .name = "Egress", .kind = kAnswer, .fields = {yes_or_no("on", ""), count("proxies", "")}};

}  // namespace

const Schema kFileListing{.name = "FileListing",
                          .kind = kAnswer,
                          .fields = {id("path", ""), required(list("files", &kFileEntry, ""))}};
const Schema kLayers{.name = "Layers",
                     .kind = kAnswer,
                     .fields = {required(list("layers", &kLayer, "")), count("bytes", ""),
                                count("budget_bytes", ""), count("installations", "")}};
const Schema kProvided{.name = "Provided",
                       .kind = kAnswer,
                       .fields = {id("layer", "empty = the image has all of it"),
                                  strings("packages", "pins"), strings("notes", "")}};
const Schema kPruned{.name = "Pruned",
                     .kind = kAnswer,
                     .fields = {count("removed", "layers"), count("freed_bytes", "")}};
const Schema kWindows{
    .name = "Windows",
    .kind = kAnswer,
    .fields = {required(list("windows", &kWindow, "from the top down")), yes_or_no("more", ""),
               strings("notes", ""), required(object("display", &kScreenState, "", ""))}};
const Schema kIsolationOffer{
    .name = "IsolationOffer",
    .kind = kAnswer,
    .fields = {id("name", ""), strings("capabilities", "what sessions in it can have")}};
const Schema kInfo{
    .name = "Info",
    .kind = kAnswer,
    .fields = {id("name", ""), id("version", ""), count("sessions", ""),
               id("policy", "of sessions that name none"), strings("policies", ""),
               required(object("limits", &kLimitsView, "", "the defaults")),
               object("processes", &kProcesses, "", ""), text("python", 0, "", ""),
               object("isolation", &kIsolation, "", ""),
               list("isolations", &kIsolationOffer, "what sessions can name as `isolation`"),
               whole("capacity", 0, 0, "", "sessions that may exist at once"),
               object("egress", &kEgress, "", ""), object("pools", &kPools, "", ""),
               list("zygotes", &kZygote, ""), list("environments", &kEnvironment, "")}};
const Schema kProblem{
    .name = "Problem",
    .kind = kAnswer,
    .fields = {id("type", ""), id("title", ""), count("status", "as the answer's"),
               id("code", "snake_case, stable: branch on it"), id("detail", "what is wrong"),
               id("remedy", "what to do next, for people and models")}};

namespace {

std::span<const Operation> native_operations() {
  using http::verb;
  static const std::array kOperations{
      Operation{verb::get, "/health", nullptr, 200, &kHealth},
      Operation{verb::get, "/metrics", nullptr, 200, nullptr, "text/plain"},
      Operation{verb::get, "/openapi.json", nullptr, 200, nullptr},
      Operation{verb::post, "/v1/sessions", &kSession, 201, &kSessionView},
      Operation{verb::get, "/v1/sessions", nullptr, 200, &kSessionPage},
      Operation{verb::get, "/v1/sessions/{id}", nullptr, 200, &kSessionView},
      Operation{verb::delete_, "/v1/sessions/{id}", nullptr, 204, nullptr, ""},
      Operation{verb::post, "/v1/sessions/{id}/exec", &kExec, 200, &kExecution},
      Operation{verb::get, "/v1/sessions/{id}/executions", nullptr, 200, &kExecutionPage},
      Operation{verb::get, "/v1/sessions/{id}/executions/{execution}", nullptr, 200,
                &kPastExecution},
      Operation{verb::get, "/v1/sessions/{id}/stack", nullptr, 200, &kStack},
      Operation{verb::post, "/v1/sessions/{id}/interrupt", nullptr, 204, nullptr, ""},
      Operation{verb::post, "/v1/sessions/{id}/reset", &kReset, 200, &kSessionView},
      Operation{verb::post, "/v1/run", &kRun, 200, &kExecution},
      Operation{verb::get, "/v1/info", nullptr, 200, &kInfo},
      Operation{verb::get, "/v1/packages", nullptr, 200, &kLayers},
      Operation{verb::post, "/v1/packages", &kPackages, 200, &kProvided},
      Operation{verb::post, "/v1/packages/prune", &kPrune, 200, &kPruned},
      Operation{verb::post, "/v1/sessions/{id}/packages", &kPackages, 200, &kProvided},
      Operation{verb::get, "/v1/sessions/{id}/files", nullptr, 200, &kFileListing},
      Operation{verb::get, "/v1/sessions/{id}/files/{path...}", nullptr, 200, nullptr,
                "application/octet-stream"},
      Operation{verb::put, "/v1/sessions/{id}/files/{path...}", nullptr, 201, &kStoredFile},
      Operation{verb::delete_, "/v1/sessions/{id}/files/{path...}", nullptr, 204, nullptr, ""},
      Operation{verb::get, "/v1/sessions/{id}/screenshot", nullptr, 200, nullptr, "image/png"},
      Operation{verb::get, "/v1/sessions/{id}/screenshot", nullptr, 200, nullptr, "image/jpeg"},
      Operation{verb::get, "/v1/sessions/{id}/screenshot", nullptr, 200, nullptr, "image/webp"},
      Operation{verb::get, "/v1/sessions/{id}/windows", nullptr, 200, &kWindows},
      Operation{verb::post, "/v1/sessions/{id}/input", &kInput, 204, nullptr, ""},
      Operation{verb::post, "/v1/sessions/{id}/recordings", &kRecording, 201, &kRecordingView},
      Operation{verb::get, "/v1/sessions/{id}/recordings", nullptr, 200, &kRecordingList},
      Operation{verb::get, "/v1/sessions/{id}/recordings/{recording}", nullptr, 200, nullptr,
                "video/mp4"},
      Operation{verb::get, "/v1/sessions/{id}/recordings/{recording}", nullptr, 200, nullptr,
                "video/webm"},
      Operation{verb::get, "/v1/sessions/{id}/recordings/{recording}", nullptr, 200, nullptr,
                "image/gif"},
      Operation{verb::get, "/v1/sessions/{id}/recordings/{recording}", nullptr, 200, nullptr,
                "image/apng"},
      Operation{verb::post, "/v1/sessions/{id}/recordings/{recording}/stop", nullptr, 200,
                &kRecordingView},
      Operation{verb::delete_, "/v1/sessions/{id}/recordings/{recording}", nullptr, 204, nullptr,
                ""}};
  return kOperations;
}

}  // namespace

std::span<const Operation> operations() {
  static const std::vector<Operation> kAll = [] {
    std::vector<Operation> all;
    for (const auto& some : {native_operations(), operations_of_protocols()})
      all.insert(all.end(), some.begin(), some.end());
    return all;
  }();
  return kAll;
}

std::span<const Schema* const> all_schemas() {
  static const std::vector<const Schema*> kAll = [] {
    std::vector<const Schema*> found{&kProblem};
    const auto add = [&](const Schema* schema) {
      if (schema != nullptr && std::find(found.begin(), found.end(), schema) == found.end())
        found.push_back(schema);
    };
    for (const Operation& one : operations()) add(one.body), add(one.answer);
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const Field& field : found[i]->fields) add(field.of);
    return found;
  }();
  return kAll;
}

}  // namespace vitrine::api
