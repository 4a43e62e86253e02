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

Problem problem_of(const Error& error) {
  Problem problem{.detail = error.message, .remedy = error.remedy};
  std::string otherwise;  // where the error itself has no remedy
  switch (error.code) {
    case Code::invalid_argument:
      problem.status = http::status::bad_request;
      problem.code = "invalid_argument";
      otherwise = "correct the request; docs/api.md shows what it may hold";
      break;
    case Code::not_found:
      problem.status = http::status::not_found;
      problem.code = "not_found";
      otherwise = api::not_found().remedy;
      break;
    case Code::conflict:
      problem.status = http::status::conflict;
      problem.code = "conflict";
      otherwise = "look at what is there first, and choose another path or another moment";
      break;
    case Code::over_limit:
      problem.status = http::status::insufficient_storage;
      problem.code = "over_limit";
      otherwise = "ask for less, or end what is not needed any more";
      break;
    case Code::timed_out:
      problem.status = http::status::gateway_timeout;
      problem.code = "timed_out";
      otherwise = "try again";
      break;
    case Code::unsupported:
      problem.status = http::status::unprocessable_entity;
      problem.code = "unsupported";
      otherwise = "leave it out; `vitrine doctor` tells what this host offers";
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
      otherwise = "try again; if it stays, look at the server's log";
      break;
  }
  if (problem.remedy.empty()) problem.remedy = std::move(otherwise);
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
          .detail = "there is nothing at this address",
          .remedy = "check the id and the path; a deleted session is gone for good"};
}

Problem bad_field(const std::string& field, const std::string& why, const std::string& remedy) {
  return {.status = http::status::unprocessable_entity,
          .code = "invalid_field",
          .detail = field + ": " + why,
          .remedy = remedy};
}

Problem session_dead(const std::string& why) {
  return {.status = http::status::gone,
          .code = "session_dead",
          .detail = "the session's process is gone: " + why,
          .remedy =
              "POST /v1/sessions/{id}/reset gives a fresh one under the same id; its files can "
              "still be downloaded, and kept with {\"files\": \"keep\"}"};
}

}  // namespace vitrine::api
