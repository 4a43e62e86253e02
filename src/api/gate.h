// SPDX-License-Identifier: Apache-2.0
// Whether a request may come in, by its headers alone: what is wrong with its form whoever sends it, and
// who sends it. Pure; the answer to what is refused is a Problem.
//
// Trust: every header is hostile.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <optional>
#include <set>
#include <string>

#include "api/identities.h"
#include "api/problem.h"
#include "api/router.h"
#include "api/target.h"

namespace vitrine::api {

using RequestHeader = http::request_header<>;

// A Host or Origin that is not ours (`hosts`: exact values; empty = any), or a length that can be read in
// two ways. Where such a request ends is not for sure, so that nothing after it is believed.
// An open route takes any Host: probes of load balancers name the address that they found us by.
std::optional<Problem> refuse_form(const RequestHeader& request,
                                   const std::optional<Target>& target, Access access,
                                   const std::set<std::string>& hosts);

// Which identity the request's credentials name. None given = anonymous, nobody's = null.
const Identity* identify(const RequestHeader& request, const Identities& known);

enum class Tokens { for_listings, everywhere };  // where one is needed

struct Sender {
  const Identity* identity = nullptr;  // null where the token was refused
  std::optional<Problem> refusal = {};
};
Sender admit(const RequestHeader& request, Access access, const Identities& known, Tokens tokens);

}  // namespace vitrine::api
