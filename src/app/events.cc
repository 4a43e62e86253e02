// SPDX-License-Identifier: Apache-2.0
#include "app/events.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstdio>

namespace vitrine::app {

namespace json = boost::json;

namespace {

std::string text_at(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : "";
}

}  // namespace

// Unbuffered: what came is seen, also when the next thing is a signal.
void EventPrinter::put(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done < 0 && errno == EPIPE) unheard_ = true;
    if (done < 0 && errno != EINTR) return;
    if (done > 0) text.remove_prefix(static_cast<std::size_t>(done));
  }
}

void EventPrinter::line(std::string_view text) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(text, failed);
  if (failed || !parsed.is_object()) return;
  const json::object& event = parsed.as_object();
  const std::string type = text_at(event, "type");
  if (type == "finished") {
    if (const json::value* found = event.if_contains("execution"))
      if (const json::object* execution = found->if_object()) execution_ = *execution;
    return;
  }
  if (type == "error") {
    const json::value* found = event.if_contains("error");
    if (found == nullptr || !found->is_object()) return;
    exited_ = text_at(found->as_object(), "name") == "SystemExit";
    if (!exited_ && show_ == Show::as_they_come)
      put(STDERR_FILENO, text_at(found->as_object(), "traceback"));
    return;
  }
  if (type == "problem" && event.contains("problem"))
    problem_ = json::serialize(event.at("problem"));
  if (show_ == Show::nothing) return;
  if (type == "progress") put(STDERR_FILENO, "packages: " + text_at(event, "text") + "\n");
  if (type == "stdout") put(STDOUT_FILENO, text_at(event, "text"));
  if (type == "stderr") put(STDERR_FILENO, text_at(event, "text"));
  if (type == "note") put(STDERR_FILENO, "note: " + text_at(event, "text") + "\n");
  if (type != "result") return;
  const json::value* data = event.if_contains("data");
  if (data == nullptr || !data->is_object()) return;
  const std::string plain = text_at(data->as_object(), "text/plain");
  if (!plain.empty()) put(STDOUT_FILENO, plain + "\n");
}

std::optional<int> EventPrinter::exit_code() const {
  const json::value* found = execution_.if_contains("exit_code");
  if (found == nullptr || !found->is_int64()) return std::nullopt;
  return static_cast<int>(found->as_int64() & 0xFF);
}

bool EventPrinter::state_kept() const {
  const json::value* found = execution_.if_contains("state_kept");
  return found != nullptr && found->is_bool() && found->as_bool();
}

void EventPrinter::explain() const {
  const std::string outcome = text_at(execution_, "outcome");
  const auto say = [](const char* text) { std::fprintf(stderr, "vitrine: %s\n", text); };
  if (outcome == "timeout") say("stopped: it took longer than its time limit (--timeout)");
  if (outcome == "oom") say("stopped: it needed more than its memory limit (--memory)");
  if (outcome == "crashed") say("the Python process ended without finishing the code");
  const json::value* cut = execution_.if_contains("truncated");
  if (cut == nullptr || !cut->is_object()) return;
  for (const char* stream : {"stdout", "stderr"})
    if (const json::value* found = cut->as_object().if_contains(stream))
      if (found->is_bool() && found->as_bool())
        std::fprintf(stderr, "vitrine: %s is truncated: it was longer than its limit\n", stream);
}

Status add_session_fields(const Target& target, json::object& body) {
  json::object limits;
  if (target.memory_mb) limits["memory_mb"] = *target.memory_mb;
  if (target.timeout_s) limits["exec_timeout_s"] = *target.timeout_s;
  if (!limits.empty()) body["limits"] = std::move(limits);
  if (!target.with.empty()) {
    json::array& list = body["packages"].emplace_array();
    for (const std::string& one : target.with) list.emplace_back(one);
  }
  if (target.allow_sdist) body["allow_sdist"] = true;
  if (!target.environment.empty()) body["environment"] = target.environment;
  if (!target.allow.empty()) {
    json::array rules;
    for (const std::string& rule : target.allow) rules.emplace_back(rule);
    body["network"] = json::object{{"allow", std::move(rules)}};
  }
  if (!target.policy.empty()) body["policy"] = target.policy;
  if (!target.imports.empty())
    body["imports"] = json::array(target.imports.begin(), target.imports.end());
  if (target.env.empty()) return ok();
  json::object variables;
  for (const std::string& pair : target.env) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{.code = Code::invalid_argument,
                   .message = "env '" + pair + "' has no name or no value",
                   .remedy = "write it as --env NAME=VALUE"};
    variables[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  body["env"] = std::move(variables);
  return ok();
}

}  // namespace vitrine::app
