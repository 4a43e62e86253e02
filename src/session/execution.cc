// SPDX-License-Identifier: Apache-2.0
#include "session/execution.h"

namespace vitrine::session {

namespace {

constexpr std::size_t kMaxNotes = 64;
// What events cost beside the bytes that output_kb counts: metadata, names, and that they are many.
constexpr std::size_t kMaxExtra = 8u << 20;
constexpr std::size_t kExtraPerEvent = 128;
constexpr std::size_t kMaxKept = 20'000;  // events that the one who reads along has seen already
constexpr std::size_t kMaxJoined = 64 * 1024;

}  // namespace

Execution::Execution(asio::any_io_executor executor, ExecRequest wanted, std::size_t output_limit)
    : request(std::move(wanted)),
      changes_(std::move(executor)),
      out_(output_limit),
      err_(output_limit),
      output_limit_(output_limit) {}

Task<std::optional<Event>> Execution::next(std::size_t& cursor) {
  cursor = std::max(cursor, dropped_);
  while (cursor == end_of_events() && !finished_) {
    co_await changes_.wait();
  }
  if (cursor == end_of_events()) co_return std::nullopt;
  Event event = events_[cursor++ - dropped_];
  taken_ = std::max(taken_, cursor);
  if (cursor == end_of_events()) {
    if (unread_ > 0) changes_.tell();
    unread_ = 0;
    if (attached_ == 1 && events_.size() >= kMaxKept) {
      dropped_ = cursor;
      events_.clear();
    }
  }
  co_return event;
}

Task<void> Execution::finished() {
  while (!finished_) {
    co_await changes_.wait();
  }
}

Task<bool> Execution::finished_within(std::chrono::milliseconds time) {
  const auto latest = Clock::now() + time;
  while (!finished_ && Clock::now() < latest) co_await changes_.wait(latest);
  co_return finished_;
}

void Execution::detach() {
  --attached_;
  changes_.tell();
}

Task<void> Execution::caught_up(std::size_t limit) {
  while (!finished_ && backlog() > limit) {
    co_await changes_.wait();
  }
}

void Execution::emit(Event event, std::size_t bytes) {
  unread_ += bytes;
  events_.push_back(std::move(event));
  changes_.tell();
}

void Execution::add_output(Stream stream, std::string_view bytes) {
  if (stream == Stream::out) out_bytes_ += bytes.size();
  std::string text = (stream == Stream::out ? out_ : err_).add(bytes);
  if (text.empty()) return;
  const std::size_t size = text.size();
  // Output that comes byte by byte is one event until somebody takes it.
  auto* last = end_of_events() > taken_ ? std::get_if<OutputEvent>(&events_.back()) : nullptr;
  if (last != nullptr && last->stream == stream && last->text.size() < kMaxJoined) {
    last->text += text;
    unread_ += size;
    return changes_.tell();
  }
  emit(OutputEvent{stream, std::move(text)}, size);
}

bool Execution::take_extra(std::size_t bytes) {
  if (extra_ + bytes + kExtraPerEvent > kMaxExtra) return false;
  extra_ += bytes + kExtraPerEvent;
  return true;
}

void Execution::add_result(ResultEvent result) {
  if (!take_extra(result.display_id.size() + result.metadata.size()))
    return add_note("a result was left out: there are too many, or their metadata is too large");
  std::size_t size = 0;
  for (const auto& [type, bytes] : result.data) size += bytes.size();
  result_bytes_ += size;
  if (result_bytes_ > output_limit_) {
    // The worker's runtime keeps to the limit; one that does not is not believed.
    result_bytes_ -= size;
    return add_note("a result was left out: the results are larger than the session's output_kb");
  }
  const auto shown = displays_.find(result.display_id);
  if (result.kind == wire::ResultKind::update_display) {
    if (shown != displays_.end()) record.results[shown->second] = result.data;
  } else if (result.kind != wire::ResultKind::clear_output) {
    if (!result.display_id.empty()) displays_[result.display_id] = record.results.size();
    record.results.push_back(result.data);
  }
  emit(std::move(result), size);
}

void Execution::add_error(ExecError error) {
  record.error = error;
  emit(ErrorEvent{std::move(error)}, 0);
}

void Execution::add_note(std::string text) {
  if (record.notes.size() >= kMaxNotes) return;
  record.notes.push_back(text);
  emit(NoteEvent{std::move(text)}, 0);
}

void Execution::add_input(InputEvent input) {
  if (take_extra(input.prompt.size())) emit(std::move(input), 0);
}

void Execution::add_screenshot(std::optional<std::string> png) {
  record.screenshot = png;
  emit(ScreenshotEvent{std::move(png)}, 0);
}

void Execution::add_frame(StripFrame frame) {
  record.frames.push_back(frame);
  emit(FrameEvent{std::move(frame)}, 0);
}

void Execution::finish() {
  if (finished_) return;
  for (Stream stream : {Stream::out, Stream::err})
    if (std::string rest = (stream == Stream::out ? out_ : err_).finish(); !rest.empty())
      emit(OutputEvent{stream, std::move(rest)}, 0);
  record.out = out_.text();
  record.err = err_.text();
  record.out_truncated = out_.truncated();
  record.err_truncated = err_.truncated();
  record.state = "finished";
  finished_ = true;
  emit(FinishedEvent{}, 0);
}

}  // namespace vitrine::session
