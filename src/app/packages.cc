// SPDX-License-Identifier: Apache-2.0
// `vitrine packages`: what a server has installed.
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>

#include "app/commands.h"
#include "app/events.h"
#include "app/server_access.h"

namespace vitrine::app {

namespace json = boost::json;

namespace {

double megabytes(const json::value& bytes) { return bytes.to_number<double>() / (1 << 20); }

void print_layers(const json::object& answer) {
  for (const json::value& value : answer.at("layers").as_array()) {
    const json::object& layer = value.as_object();
    std::string pins;
    for (const json::value& pin : layer.at("packages").as_array())
      pins += (pins.empty() ? "" : " ") + std::string(pin.as_string());
    std::printf("%s  %8.1f MB  %s  %s\n",
                std::string(layer.at("id").as_string()).substr(0, 12).c_str(),
                megabytes(layer.at("bytes")), layer.at("in_use").as_bool() ? "in use" : "unused",
                pins.c_str());
  }
  std::printf("%.1f of %.0f MB\n", megabytes(answer.at("bytes")),
              megabytes(answer.at("budget_bytes")));
}

// A line of a stream: progress is shown, the last one is kept.
Wake take_line(std::string_view line, std::string& last) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(line, failed);
  if (failed || !parsed.is_object()) return Wake::keep_on;
  const json::object& event = parsed.as_object();
  const bool progress = event.contains("type") && event.at("type") == "progress";
  if (!progress) last = line;
  else if (event.contains("text"))
    std::fprintf(stderr, "packages: %s\n", json::value_to<std::string>(event.at("text")).c_str());
  return Wake::keep_on;
}

}  // namespace

int packages(PackagesAction action, const Target& target, std::uint64_t keep_mb, bool as_json) {
  Signals signals;
  Result<ServerAccess> access = ServerAccess::find(target, signals);
  if (!access) return refuse(access.error(), kOurFailure);
  Request request{.target = "/v1/packages"};
  Hooks hooks;
  std::string last;
  if (action != PackagesAction::list) request.method = "POST";
  if (action == PackagesAction::prune) {
    request.target += "/prune";
    request.body = json::serialize(json::object{{"keep_mb", keep_mb}});
  }
  if (action == PackagesAction::warm) {
    json::object body;
    json::array& list = body["packages"].emplace_array();
    for (const std::string& one : target.with) list.emplace_back(one);
    if (target.allow_sdist) body["allow_sdist"] = true;
    request.body = json::serialize(body);
    hooks.on_line = [&](std::string_view line) { return take_line(line, last); };
  }
  Result<Response> response = exchange(access->server(), request, hooks);
  if (!response) return refuse(response.error(), kOurFailure);
  if (response->status != 200) {
    const Error error = problem_in(*response);
    return refuse(error, error.code == Code::invalid_argument ? kUsage : kOurFailure);
  }
  const std::string text = response->body.empty() ? last : response->body;
  boost::system::error_code failed;
  const json::value parsed = json::parse(text, failed);
  if (failed || !parsed.is_object())
    return refuse(Error{Code::unavailable, "the server sent an unexpected response"}, kOurFailure);
  const json::object& answer = parsed.as_object();
  if (answer.contains("problem"))
    return refuse(
        problem_in({.status = 422, .type = {}, .body = json::serialize(answer.at("problem"))}),
        kUsage);
  if (as_json) std::printf("%s\n", text.c_str());
  else if (action == PackagesAction::list) print_layers(answer);
  else if (action == PackagesAction::prune)
    std::printf("%lld removed, %.1f MB freed\n", answer.at("removed").to_number<long long>(),
                megabytes(answer.at("freed_bytes")));
  else
    for (const json::value& pin : answer.at("packages").as_array())
      std::printf("%s\n", json::value_to<std::string>(pin).c_str());
  return 0;
}

}  // namespace vitrine::app
