// SPDX-License-Identifier: Apache-2.0
// Bodies of requests: JSON text, then the fields of a session and of an execution.
//
// Input: one byte (which reader), then the body.
#include <string>

#include "api/native/requests.h"
#include "tests/fuzz/input.h"
#include "wire/messages.h"

using vitrine::fuzz::require;
using namespace vitrine;

namespace {

void check(const api::Problem& problem) {
  require(static_cast<int>(problem.status) >= 400, "a refusal has a status");
  require(!problem.code.empty() && !problem.detail.empty(), "a refusal says why");
  require(!problem.remedy.empty(), "a refusal has a remedy");
  require(wire::is_utf8(api::to_json(problem)), "a refusal is text");
}

void read_as_session(api::Fields& fields) {
  service::SessionRequest request;
  api::read_session(fields, request);
  if (auto problem = fields.problem()) return check(*problem);
  const session::SessionSpec& spec = request.spec;
  require(static_cast<bool>(spec.limits.validate()), "accepted limits are valid");
  for (const auto& [name, value] : spec.env)
    require(wire::is_allowed_variable(name, value), "an accepted variable is allowed");
}

void read_as_execution(api::Fields& fields) {
  ExecRequest request;
  api::read_exec(fields, request);
  if (auto problem = fields.problem()) return check(*problem);
  require(wire::is_utf8(request.code), "accepted code is text");
  if (request.timeout) require(request.timeout->count() > 0, "a time limit is positive");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const bool session = in.byte() == 0;
  const std::string body(in.all());
  const auto parsed = api::parse_object(body, api::EmptyBody::is_object);
  if (const auto* problem = std::get_if<api::Problem>(&parsed)) {
    check(*problem);
    return 0;
  }
  api::Fields fields(std::get<api::json::object>(parsed));
  if (session) read_as_session(fields);
  else read_as_execution(fields);
  return 0;
}
