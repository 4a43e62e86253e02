// SPDX-License-Identifier: Apache-2.0
// Errors as clients see them: application/problem+json with a `code` to branch on and a `remedy` that
// tells a model what to do next.
#pragma once

#include <boost/beast/http/status.hpp>
#include <string>

#include "api/exchange.h"
#include "base/result.h"

namespace vitrine::api {

struct Problem {
  http::status status = http::status::internal_server_error;
  std::string code;  // snake_case, stable
  std::string detail;
  std::string remedy;
  int retry_after_s = 0;  // > 0: sent as Retry-After
  std::vector<Header> headers = {};
};

std::string to_json(const Problem& problem);
Task<void> respond(Exchange& exchange, const Problem& problem);

// By the error's reason, else by its code: the one table of this protocol.
Problem problem_of(const Error& error);

// A function and not braces at the place of use: GCC 12 destroys an aggregate's temporary twice when
// it stands in an expression with co_await.
Problem make_problem(http::status status, std::string code, std::string detail, std::string remedy,
                     int retry_after_s = 0);

Problem not_found();  // the same bytes for missing and foreign
Problem bad_field(const std::string& field, const std::string& why, const std::string& remedy);

}  // namespace vitrine::api
