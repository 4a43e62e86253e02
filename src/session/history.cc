// SPDX-License-Identifier: Apache-2.0
#include "session/history.h"

#include "session/ids_and_time.h"

namespace vitrine::session {

namespace {

std::uint64_t own_limit(const ExecRequest& request) {
  return request.timeout ? static_cast<std::uint64_t>(request.timeout->count()) : 0;
}

}  // namespace

void History::begun(Execution& execution) {
  if (execution.record.id.empty()) execution.record.id = new_id();
  execution.record.started_at = now_rfc3339();
  if (!execution.stored) return;
  Status stored = store_.begin_execution({.id = execution.record.id,
                                          .session = execution.record.session,
                                          .number = execution.number,
                                          .code = execution.record.code,
                                          .started_at = execution.record.started_at,
                                          .state = "running",
                                          .record = "",
                                          .limit_ms = own_limit(execution.request)});
  if (!stored) execution.add_note("this execution could not be stored: " + stored.error().message);
}

void History::ended(Execution& execution) {
  if (execution.record.id.empty()) execution.record.id = new_id();
  if (!execution.stored) return;
  // Pictures on the way are for whoever asked: too large for a history.
  auto frames = std::exchange(execution.record.frames, {});
  const bool wanted = std::exchange(execution.record.wants_frames, false);
  execution.rendered = to_json_(execution.record);
  Status stored = store_.finish_execution(execution.record.id, execution.rendered);
  execution.record.frames = std::move(frames);
  execution.record.wants_frames = wanted;
  if (stored) return;
  execution.record.notes.push_back("this result could not be stored: " + stored.error().message);
  execution.rendered.clear();
}

}  // namespace vitrine::session
