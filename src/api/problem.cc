// SPDX-License-Identifier: Apache-2.0
#include "api/problem.h"

#include <boost/json.hpp>

#include "api/text.h"

namespace vitrine::api {

namespace json = boost::json;

std::string to_json(const Problem& problem) {
  return json::serialize(json::object{
      {"type", "about:blank"},
      {"title", std::string(http::obsolete_reason(problem.status))},
      {"status", static_cast<int>(problem.status)},
      {"code", problem.code},
      {"detail", as_text(problem.detail)},
      {"remedy", problem.remedy},
  });
}

Task<void> respond(Exchange& exchange, const Problem& problem) {
  std::vector<Header> headers = problem.headers;
  if (problem.retry_after_s > 0)
    headers.emplace_back("Retry-After", std::to_string(problem.retry_after_s));
  if (problem.status == http::status::unauthorized)
    headers.emplace_back("WWW-Authenticate", "Bearer realm=\"vitrine\"");
  co_await exchange.respond(problem.status, "application/problem+json", to_json(problem), headers);
}

namespace {

// What an error's reason is in HTTP. The code that clients see is the reason itself.
struct Row {
  std::string_view reason;
  int status;
  int retry_after_s = 0;  // where the error itself names none
};
constexpr Row kReasons[] = {
    // Requests.
    {"unknown_environment", 400},
    {"isolation_unavailable", 422},
    {"unsupported_by_isolation", 422},
    {"invalid_field", 422},
    {"invalid_path", 400},
    // Sessions.
    {"session_dead", 410},
    {"queue_full", 429, 1},
    {"no_capacity", 503, 1},
    {"rate_limited", 429},
    {"quota_sessions", 429},
    {"quota_memory", 429},
    {"disk_full", 507},
    // Screens.
    {"no_display", 409},
    {"no_picture", 503, 1},
    {"window_not_found", 404},
    {"window_ambiguous", 409},
    {"too_many_recordings", 429, 1},
    // Packages: docs/packages.md.
    {"package_not_found", 422},
    {"no_wheel", 422},
    {"only_sdist", 422},
    {"build_failed", 422},
    {"needs_compiler", 422},
    {"conflict", 422},
    {"too_big", 422},
    {"bad_package", 422},
    {"too_many_packages", 422},
    {"invalid_requirement", 422},
    {"invalid_import", 422},
    {"unknown_module", 422},
    {"packages_off", 422},
    {"package_forbidden", 403},
    {"sdist_off", 403},
    {"offline", 503},
    {"cancelled", 503},
    {"hash_mismatch", 502},
    {"install_failed", 502},
    {"install_timeout", 504},
    {"quota_installations", 429},
    {"installations_limited", 429},
};

}  // namespace

Problem problem_of(const Error& error) {
  if (error.reason == "not_found") return api::not_found();
  Problem problem{.detail = error.message, .remedy = error.remedy};
  std::string otherwise;  // where the error itself has no remedy
  switch (error.code) {
    case Code::invalid_argument:
      problem.status = http::status::bad_request;
      problem.code = "invalid_argument";
      otherwise = "correct the request; see docs/api.md";
      break;
    case Code::not_found:
      problem.status = http::status::not_found;
      problem.code = "not_found";
      otherwise = api::not_found().remedy;
      break;
    case Code::conflict:
      problem.status = http::status::conflict;
      problem.code = "conflict";
      otherwise = "check what exists, and use another path or try again later";
      break;
    case Code::over_limit:
      problem.status = http::status::insufficient_storage;
      problem.code = "over_limit";
      otherwise = "request less, or end what is no longer needed";
      break;
    case Code::timed_out:
      problem.status = http::status::gateway_timeout;
      problem.code = "timed_out";
      otherwise = "try again";
      break;
    case Code::unsupported:
      problem.status = http::status::unprocessable_entity;
      problem.code = "unsupported";
      otherwise = "leave it out; `vitrine doctor` reports what this host supports";
      break;
    case Code::unavailable:
      problem.status = http::status::service_unavailable;
      problem.code = "unavailable";
      problem.retry_after_s = 1;
      otherwise = "try again in a moment";
      break;
    case Code::internal:
      problem.status = http::status::internal_server_error;
      problem.code = "internal";
      otherwise = "try again; if it persists, see the server's log";
      break;
  }
  if (problem.remedy.empty()) problem.remedy = std::move(otherwise);
  for (const Row& row : kReasons)
    if (row.reason == error.reason) {
      problem.status = static_cast<http::status>(row.status);
      problem.code = error.reason;
      problem.retry_after_s = row.retry_after_s;
      break;
    }
  if (error.retry_after.count() > 0)
    problem.retry_after_s = static_cast<int>(error.retry_after.count());
  return problem;
}

Problem make_problem(http::status status, std::string code, std::string detail, std::string remedy,
                     int retry_after_s) {
  return {.status = status,
          .code = std::move(code),
          .detail = std::move(detail),
          .remedy = std::move(remedy),
          .retry_after_s = retry_after_s};
}

Problem not_found() {
  return {.status = http::status::not_found,
          .code = "not_found",
          .detail = "there is no such resource",
          .remedy = "check the id and the path; a deleted session cannot be restored"};
}

Problem bad_field(const std::string& field, const std::string& why, const std::string& remedy) {
  return {.status = http::status::unprocessable_entity,
          .code = "invalid_field",
          .detail = field + ": " + why,
          .remedy = remedy};
}

}  // namespace vitrine::api
