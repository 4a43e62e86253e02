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
#include <vector>

#include "backend/clock.h"
#include "model/execution.h"
#include "session/condition.h"
#include "session/event.h"
#include "session/event_log.h"
#include "session/feed.h"
#include "session/output.h"

namespace vitrine::session {

namespace asio = boost::asio;
template <class T>
using Task = asio::awaitable<T>;

class ExecutionCaptures;

class Execution {
 public:
  // `feed`: of its session, which gets every event, too; null = nobody reads it.
  Execution(asio::any_io_executor executor, ExecRequest request, std::size_t output_limit,
            std::shared_ptr<FeedLog> feed = nullptr);

  // What readers read: EventLog::Reader(execution.events()). The session stops reading the worker's pipes
  // while the slowest of them is too far behind.
  const std::shared_ptr<EventLog>& events() { return events_; }
  Task<void> finished();
  Task<bool> finished_within(std::chrono::milliseconds time);
  bool is_finished() const { return finished_; }

  // For the session.
  void add_output(Stream stream, std::string_view bytes);
  void add_result(ResultEvent result);
  void add_error(ExecError error);
  void add_note(std::string text);
  void add_progress(std::string text);
  void add_input(InputEvent input);
  void add_screenshot(std::optional<std::string> png);
  void add_frame(StripFrame frame);
  std::uint64_t written() const { return out_bytes_; }  // on stdout so far
  void finish();                                        // flushes what was held back, then Finished

  const ExecRequest request;
  ExecRecord record;
  bool stored = true;        // the history keeps it
  std::string rendered;      // the record as JSON, once the history has it; without frames
  std::uint64_t number = 0;  // on the session socket
  bool timed_out = false;
  bool watched = false;
  bool painted = false;                         // the worker waits until the picture is taken
  std::shared_ptr<ExecutionCaptures> captures;  // where pictures of it are wanted
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
  // Its time limit does not count while packages are installed for it.
  std::optional<Clock::time_point> installing_since;
  Clock::duration installing{};  // before that
  Clock::duration time_installing() const {
    return installing + (installing_since ? Clock::now() - *installing_since : Clock::duration{});
  }
  std::uint64_t cpu_before_us = 0;

 private:
  bool take_extra(std::size_t bytes);
  // To those who read this execution and to those who read its session.
  void append(Event event, std::size_t bytes);
  void feed(const Event& event);

  Condition ended_;
  Output out_;
  Output err_;
  std::size_t result_bytes_ = 0;
  std::uint64_t out_bytes_ = 0;  // that came on stdout
  std::size_t extra_ = 0;
  std::map<std::string, std::size_t> displays_;  // display_id -> its place in record.results
  std::size_t output_limit_;
  std::shared_ptr<EventLog> events_;
  std::shared_ptr<FeedLog> feed_;
  bool finished_ = false;
};

}  // namespace vitrine::session
