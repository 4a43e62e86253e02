// SPDX-License-Identifier: Apache-2.0
// A running or finished execution, as those who wait for it see it: events in order, then exactly
// one Finished.
//
// Ownership: shared by the session that runs it and whoever reads it.
// Threading: the front's one thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backend/clock.h"
#include "model/execution.h"
#include "session/changes.h"
#include "session/output.h"
#include "wire/messages.h"

namespace vitrine::session {

namespace asio = boost::asio;
template <class T>
using Task = asio::awaitable<T>;

class Sights;

enum class Stream { out, err };

struct OutputEvent {
  Stream stream = Stream::out;
  std::string text;
};
struct ResultEvent {
  wire::ResultKind kind = wire::ResultKind::value;
  std::string display_id;
  MimeBundle data;
  std::string metadata;
};
struct ErrorEvent {
  ExecError error;
};
struct NoteEvent {
  std::string text;
};
struct InputEvent {
  std::string prompt;
  bool password = false;
};
struct ScreenshotEvent {
  std::optional<std::string> png;
};
struct FrameEvent {
  StripFrame frame;
};
struct FinishedEvent {};

using Event = std::variant<OutputEvent, ResultEvent, ErrorEvent, NoteEvent, InputEvent,
                           ScreenshotEvent, FrameEvent, FinishedEvent>;

class Execution {
 public:
  Execution(asio::any_io_executor executor, ExecRequest request, std::size_t output_limit);

  // The event at `cursor`, waiting for it if need be; nullopt after Finished. Readers keep their own
  // cursor, so any number of them sees everything; of very many events, one who comes late sees
  // only those that are not dropped yet.
  Task<std::optional<Event>> next(std::size_t& cursor);
  Task<void> finished();
  Task<bool> finished_within(std::chrono::milliseconds time);
  bool is_finished() const { return finished_; }

  // Bytes of events that the slowest attached reader has not taken; the session stops reading the
  // worker's pipes beyond a limit.
  std::size_t backlog() const { return attached_ == 0 ? 0 : unread_; }
  void attach() { ++attached_; }
  void detach();
  // Waits until the readers have caught up, or nobody reads.
  Task<void> caught_up(std::size_t limit);

  // For the session.
  void add_output(Stream stream, std::string_view bytes);
  void add_result(ResultEvent result);
  void add_error(ExecError error);
  void add_note(std::string text);
  void add_input(InputEvent input);
  void add_screenshot(std::optional<std::string> png);
  void add_frame(StripFrame frame);
  std::uint64_t written() const { return out_bytes_; }  // on stdout so far
  void finish();                                        // flushes what was held back, then Finished

  const ExecRequest request;
  ExecRecord record;
  std::uint64_t number = 0;  // on the session socket
  bool timed_out = false;
  bool watched = false;
  bool painted = false;            // the worker waits until the picture is taken
  std::shared_ptr<Sights> sights;  // where pictures of it are wanted
  struct Ending {
    Outcome outcome = Outcome::ok;
    int exit_code = 0;
    bool state_kept = true;
  };
  std::optional<Ending> ending;  // it is over but for the picture
  std::size_t notes_told = 0;    // by the worker
  std::uint32_t line = 0;        // of its code, the last that the worker told; 0 = none
  Clock::time_point line_at{};
  std::string stack;         // where it was when it was asked last
  std::uint64_t stacks = 0;  // how often it has told
  Clock::time_point started{};
  std::uint64_t cpu_before_us = 0;

 private:
  bool take_extra(std::size_t bytes);
  std::size_t end_of_events() const { return dropped_ + events_.size(); }
  void emit(Event event, std::size_t bytes);

  Changes changes_;
  Output out_;
  Output err_;
  std::size_t result_bytes_ = 0;
  std::uint64_t out_bytes_ = 0;  // that came on stdout
  std::size_t extra_ = 0;
  std::map<std::string, std::size_t> displays_;  // display_id -> its place in record.results
  std::size_t output_limit_;
  std::vector<Event> events_;
  std::size_t dropped_ = 0;  // events before the first of events_
  std::size_t taken_ = 0;    // where the foremost reader is
  std::size_t unread_ = 0;
  int attached_ = 0;
  bool finished_ = false;
};

}  // namespace vitrine::session
