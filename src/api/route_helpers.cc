// SPDX-License-Identifier: Apache-2.0
#include "api/route_helpers.h"

#include <boost/beast/core/string.hpp>

#include "api/problem.h"
#include "api/text.h"

namespace vitrine::api {

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

Task<service::SessionRef> session_of(Exchange& exchange, service::Operations& operations) {
  service::SessionRef session = operations.find(*exchange.identity, exchange.parameters[0]);
  if (!session) {
    co_await respond(exchange, not_found());
    co_return nullptr;
  }
  exchange.session_id = session->id;
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
