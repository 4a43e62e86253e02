// SPDX-License-Identifier: Apache-2.0
// What most routes begin with: the session that the path names, and a JSON object as the body. Each
// answers by itself when it is not there, and the route is over.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "api/exchange.h"
#include "api/fields.h"
#include "api/problem.h"
#include "service/operations.h"

namespace vitrine::api {

// The first parameter of the path. Null after it has answered 404: missing and foreign are the same.
Task<service::SessionRef> session_of(Exchange& exchange, service::Operations& operations);

// None after it has answered: too large, no JSON, no object. `remedy`, a literal, is for one that is
// too large.
Task<std::optional<json::object>> body_of(Exchange& exchange, std::size_t limit, EmptyBody empty,
                                          std::string_view remedy);

}  // namespace vitrine::api
