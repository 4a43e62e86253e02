// SPDX-License-Identifier: Apache-2.0
// Events in order, for any number of readers. Each reader has its own place and sees every event from
// the first that is kept when it comes; the backlog is that of the slowest reader.
//
// Events that every reader has taken are dropped once they are many, so a reader that comes late may
// miss the beginning. While nobody reads, all are kept: whoever appends bounds them.
// Ownership: shared by who appends and who reads. Threading: the front's one thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/condition.h"
#include "session/event.h"

namespace vitrine::session {

class EventLog {
 public:
  explicit EventLog(boost::asio::any_io_executor executor)
      : appended_(executor), drained_(std::move(executor)) {}
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // `bytes` is what the event weighs in the backlog, besides its being one more.
  void append(Event event, std::size_t bytes);
  // Output that comes in small pieces is one event until somebody takes it.
  void append_output(Stream stream, std::string text);
  // Nothing follows.
  void close();

  // What the slowest reader has not taken yet; 0 while nobody reads.
  std::size_t backlog() const;
  // Waits until it is at most `limit`, or the log is closed. A reader's leaving counts as catching up.
  boost::asio::awaitable<void> caught_up(std::size_t limit);

  class Reader;

 private:
  struct Entry {
    Event event;
    std::size_t cost = 0;
  };

  std::size_t end() const { return dropped_ + entries_.size(); }
  std::size_t unread(const Reader& reader) const;
  void drop_taken();

  std::deque<Entry> entries_;
  std::size_t dropped_ = 0;       // entries before the first of entries_
  std::size_t dropped_cost_ = 0;  // of those
  std::size_t total_cost_ = 0;    // of all that were ever appended
  std::size_t foremost_ = 0;      // where the fastest reader ever was
  bool closed_ = false;
  std::vector<const Reader*> readers_;
  Condition appended_;
  Condition drained_;
};

// Attached as long as it exists: who appends waits for it.
class EventLog::Reader {
 public:
  explicit Reader(std::shared_ptr<EventLog> log);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // The next event, waiting for it if need be; nullopt once the log is closed and all is taken. One at
  // a time; the reader must outlive it.
  boost::asio::awaitable<std::optional<Event>> next();

 private:
  friend class EventLog;

  std::shared_ptr<EventLog> log_;
  std::size_t place_;       // the next to take
  std::size_t taken_cost_;  // of those before it
};

}  // namespace vitrine::session
