// SPDX-License-Identifier: Apache-2.0
#include "session/execution.h"

#include "backend/clock.h"

namespace vitrine::session {

namespace {

constexpr std::size_t kMaxNotes = 64;
// What events cost beside the bytes that output_kb counts: metadata, names, and that they are many.
constexpr std::size_t kMaxExtra = 8u << 20;
constexpr std::size_t kExtraPerEvent = 128;

}  // namespace

Execution::Execution(asio::any_io_executor executor, ExecRequest wanted, std::size_t output_limit,
                     std::shared_ptr<FeedLog> feed)
    : request(std::move(wanted)),
      ended_(executor),
      out_(output_limit),
      err_(output_limit),
      output_limit_(output_limit),
      events_(std::make_shared<EventLog>(std::move(executor))),
      feed_(std::move(feed)) {}

Task<void> Execution::finished() {
  while (!finished_) {
    co_await ended_.wait();
  }
}

Task<bool> Execution::finished_within(std::chrono::milliseconds time) {
  const auto latest = Clock::now() + time;
  while (!finished_ && Clock::now() < latest) co_await ended_.wait(latest);
  co_return finished_;
}

void Execution::add_output(Stream stream, std::string_view bytes) {
  if (stream == Stream::out) out_bytes_ += bytes.size();
  std::string text = (stream == Stream::out ? out_ : err_).add(bytes);
  if (text.empty()) return;
  feed(OutputEvent{stream, text});
  events_->append_output(stream, std::move(text));
}

void Execution::feed(const Event& event) {
  if (feed_ && feed_->is_read()) feed_->append(record.id, event);
}

void Execution::append(Event event, std::size_t bytes) {
  feed(event);
  events_->append(std::move(event), bytes);
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
  append(std::move(result), size);
}

void Execution::add_error(ExecError error) {
  record.error = error;
  append(ErrorEvent{std::move(error)}, 0);
}

void Execution::add_note(std::string text) {
  if (record.notes.size() >= kMaxNotes) return;
  record.notes.push_back(text);
  append(NoteEvent{std::move(text)}, 0);
}

void Execution::add_progress(std::string text) {
  if (take_extra(text.size())) append(ProgressEvent{std::move(text)}, 0);
}

void Execution::add_input(InputEvent input) {
  if (take_extra(input.prompt.size())) append(std::move(input), 0);
}

void Execution::add_screenshot(std::optional<std::string> png) {
  record.screenshot = png;
  append(ScreenshotEvent{std::move(png)}, 0);
}

void Execution::add_frame(StripFrame frame) {
  record.frames.push_back(frame);
  append(FrameEvent{std::move(frame)}, 0);
}

void Execution::finish() {
  if (finished_) return;
  for (Stream stream : {Stream::out, Stream::err})
    if (std::string rest = (stream == Stream::out ? out_ : err_).finish(); !rest.empty())
      append(OutputEvent{stream, std::move(rest)}, 0);
  record.out = out_.text();
  record.err = err_.text();
  record.out_truncated = out_.truncated();
  record.err_truncated = err_.truncated();
  record.state = "finished";
  finished_ = true;
  if (feed_ && feed_->is_read())
    feed_->append(record.id, ExecutionEnded{record.outcome, record.exit_code, record.state_kept});
  events_->append(FinishedEvent{}, 0);
  events_->close();
  ended_.notify_all();
}

}  // namespace vitrine::session
