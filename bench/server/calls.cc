// SPDX-License-Identifier: Apache-2.0
#include "server/calls.h"

namespace vitrine::bench {

namespace {

std::string code_body(const std::string& code) {
  std::string out = "{\"code\":\"";
  for (char c : code) {
    if (c == '\n') out += "\\n";
    else out += c;
  }
  return out + "\"}";
}

}  // namespace

Request execute_in(const std::string& session, const std::string& code) {
  return {.method = "POST", .target = "/v1/sessions/" + session + "/exec", .body = code_body(code)};
}

Request run_once(const std::string& code) {
  return {.method = "POST", .target = "/v1/run", .body = code_body(code)};
}

Request end_of(const std::string& session) {
  return {.method = "DELETE", .target = "/v1/sessions/" + session};
}

Status check(const Answer& answer, const Cell& cell) {
  if (answer.field("outcome") == "ok" && answer.field("text/plain") == cell.expected) return ok();
  return Error{Code::internal, "an execution answered " + answer.body.substr(0, 1000)};
}

}  // namespace vitrine::bench
