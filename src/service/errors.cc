// SPDX-License-Identifier: Apache-2.0
#include "service/errors.h"

#include <utility>

namespace vitrine::service {

namespace {

std::string cause_of(const session::Session& session) {
  if (!session.death()) return "it was ended";
  const Death& death = *session.death();
  std::string text(to_string(verdict_of(death).outcome));
  if (death.cause == Cause::signalled) text += ", signal " + std::to_string(death.code);
  if (death.cause == Cause::exited) text += ", exit status " + std::to_string(death.code);
  for (const std::string& note : session.notes()) text += "; " + note;
  return text;
}

}  // namespace

Error not_found() {
  return {.code = Code::not_found,
          .message = "there is no such session",
          .remedy = "create a session with POST /v1/sessions",
          .reason = "not_found"};
}

Error client_left() {
  return {.code = Code::unavailable, .message = "the client disconnected", .reason = "client_left"};
}

bool is_client_left(const Error& error) { return error.reason == "client_left"; }

Error session_dead(const std::string& why) {
  return {.code = Code::unavailable,
          .message = "the session's process is gone: " + why,
          .remedy =
              "POST /v1/sessions/{id}/reset starts a new one under the same id; its files can "
              "still be downloaded, and kept with {\"files\": \"keep\"}",
          .reason = "session_dead"};
}

Error session_dead(const session::Session& session) { return session_dead(cause_of(session)); }

Error creation_failed(Error error) {
  if (!error.reason.empty()) return error;
  if (error.code == Code::invalid_argument) error.reason = "invalid_field";
  if (error.code == Code::unavailable || error.code == Code::timed_out ||
      error.code == Code::over_limit || error.code == Code::internal)
    error.reason = "no_capacity";
  return error;
}

}  // namespace vitrine::service
