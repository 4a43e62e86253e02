// SPDX-License-Identifier: Apache-2.0
#include "session/worker_messages.h"

#include "backend/clock.h"

namespace vitrine::session {

Outcome outcome_of(wire::Claim claim, bool timed_out) {
  // Also when the code caught what was to stop it: it had its time, and more.
  if (timed_out) return Outcome::timeout;
  switch (claim) {
    case wire::Claim::ok: return Outcome::ok;
    case wire::Claim::exception: return Outcome::exception;
    case wire::Claim::policy: return Outcome::policy;
    case wire::Claim::interrupted: return Outcome::interrupted;
  }
  return Outcome::exception;
}

Status apply_worker_message(const wire::Message& message, Execution& execution) {
  switch (message.type) {
    case wire::Type::stack:
      execution.stack = wire::is_utf8(message.payload) ? message.payload : "";
      ++execution.stacks;
      return ok();
    case wire::Type::line: {
      Result<wire::Line> line = wire::Line::decode(message.payload);
      if (!line) return std::move(line.error());
      execution.line = line->number;
      execution.line_at = Clock::now();
      return ok();
    }
    case wire::Type::result: {
      Result<wire::ResultBundle> bundle = wire::ResultBundle::decode(message.payload);
      if (!bundle) return std::move(bundle.error());
      execution.add_result({.kind = bundle->kind,
                            .display_id = std::move(bundle->display_id),
                            .data = std::move(bundle->data),
                            .metadata = std::move(bundle->metadata)});
      return ok();
    }
    case wire::Type::error: {
      Result<wire::ErrorReport> report = wire::ErrorReport::decode(message.payload);
      if (!report) return std::move(report.error());
      if (execution.record.error)
        return Error{Code::invalid_argument, "a second error of one execution"};
      execution.add_error({.name = std::move(report->name),
                           .value = std::move(report->value),
                           .traceback = std::move(report->traceback)});
      return ok();
    }
    case wire::Type::note:
      if (!wire::is_utf8(message.payload))
        return Error{Code::invalid_argument, "a note is not text"};
      if (++execution.notes_told <= wire::kMaxNotes) execution.add_note(message.payload);
      return ok();
    default: return Error{Code::invalid_argument, "an unexpected message"};
  }
}

}  // namespace vitrine::session
