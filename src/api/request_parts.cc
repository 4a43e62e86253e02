// SPDX-License-Identifier: Apache-2.0
#include "api/request_parts.h"

#include <boost/beast/core/string.hpp>

#include "api/problem.h"
#include "api/text.h"

namespace vitrine::api {

using session::Session;

namespace {

bool is_json(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type.empty() || boost::beast::iequals(type, "application/json");
}

Problem not_json(const std::string& type) {
  return make_problem(http::status::unsupported_media_type, "unsupported_media_type",
                      "the body is " + shown(type) + ", not JSON",
                      "send Content-Type: application/json");
}

}  // namespace

Problem refused(const session::Refusal& refusal) {
  return make_problem(http::status::too_many_requests, refusal.code, refusal.detail, refusal.remedy,
                      refusal.retry_after_s);
}

Problem creation_problem(const Error& error) {
  Problem problem = problem_of(error);
  if (error.code == Code::invalid_argument) {
    problem.status = http::status::unprocessable_entity;
    problem.code = "invalid_field";
  }
  if (error.code == Code::unavailable || error.code == Code::timed_out ||
      error.code == Code::over_limit || error.code == Code::internal) {
    problem.status = http::status::service_unavailable;
    problem.code = "no_capacity";
    problem.retry_after_s = 1;
  }
  return problem;
}

Task<std::shared_ptr<Session>> session_of(Exchange& exchange, session::Registry& registry) {
  std::shared_ptr<Session> session = registry.find(exchange.parameters[0], *exchange.identity);
  if (!session) {
    co_await respond(exchange, not_found());
    co_return nullptr;
  }
  exchange.session_id = session->id;
  session->touch();
  co_return session;
}

Task<std::optional<json::object>> body_of(Exchange& exchange, std::size_t limit, EmptyBody empty,
                                          std::string_view remedy) {
  const std::string type = exchange.header("Content-Type");
  if (!is_json(type) && exchange.body_size().value_or(0) > 0) {
    co_await respond(exchange, not_json(type));
    co_return std::nullopt;
  }
  Result<std::string> text = co_await exchange.body(limit);
  if (!text) {
    Problem problem = problem_of(text.error());
    if (text.error().code == Code::over_limit)
      problem = make_problem(http::status::payload_too_large, "too_large",
                             "the body is larger than " + std::to_string(limit) + " bytes",
                             std::string(remedy));
    co_await respond(exchange, problem);
    co_return std::nullopt;
  }
  if (!is_json(type) && !text->empty()) {  // it came in chunks
    co_await respond(exchange, not_json(type));
    co_return std::nullopt;
  }
  auto parsed = parse_object(*text, empty);
  if (auto* problem = std::get_if<Problem>(&parsed)) {
    co_await respond(exchange, *problem);
    co_return std::nullopt;
  }
  co_return std::move(std::get<json::object>(parsed));
}

}  // namespace vitrine::api
