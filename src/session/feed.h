// SPDX-License-Identifier: Apache-2.0
// Every event of every execution of a session, in order, for any number of readers.
//
// FeedLog keeps the newest events, up to a limit; a Feed reads them. A Feed never slows the session down:
// one that falls behind what is kept gets a FeedGap in its place. A cursor names a place in the log, and a
// reader that comes back with it continues there. Nothing is kept before the first reader comes.
//
// Ownership: the log is shared by the session, its executions and its readers.
// Threading: the front's one thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "model/execution.h"
#include "model/session.h"
#include "session/condition.h"
#include "session/event.h"

namespace vitrine::session {

struct ExecutionBegun {
  std::string code;
};
struct ExecutionEnded {
  Outcome outcome = Outcome::ok;
  int exit_code = 0;
  bool state_kept = true;
};
struct SessionDied {
  Death death;
};
// A fresh worker has taken the place of the one before.
struct SessionReset {};
// Events that are no longer kept.
struct FeedGap {
  std::uint64_t events = 0;  // 0 = nobody knows how many: the cursor is of an earlier server
};

// FinishedEvent does not occur here: ExecutionEnded stands for it.
using FeedItem =
    std::variant<Event, ExecutionBegun, ExecutionEnded, SessionDied, SessionReset, FeedGap>;

struct FeedEvent {
  std::uint64_t cursor = 0;  // continues after this event
  std::string execution;     // its id; "" = it concerns the session
  FeedItem item;
};

class FeedLog {
 public:
  explicit FeedLog(boost::asio::any_io_executor executor) : changed_(std::move(executor)) {}
  FeedLog(const FeedLog&) = delete;
  FeedLog& operator=(const FeedLog&) = delete;

  // False until the first reader: whoever appends need not make the event.
  bool is_read() const { return read_; }
  void append(std::string execution, FeedItem item);
  // The session has ended: nothing follows.
  void close();

 private:
  friend class Feed;
  struct Entry {
    std::string execution;
    FeedItem item;
    std::size_t cost = 0;
  };

  std::uint64_t end() const { return dropped_ + entries_.size(); }

  bool read_ = false;
  bool closed_ = false;
  std::deque<Entry> entries_;
  std::uint64_t dropped_ = 0;  // events before the first of entries_
  std::size_t cost_ = 0;       // of entries_
  Condition changed_;
};

// One reader. It may be thrown away at any time; a later one continues with its cursor.
class Feed {
 public:
  // Begins after the event with this cursor; none = with what happens from now on.
  explicit Feed(std::shared_ptr<FeedLog> log, std::optional<std::uint64_t> after = std::nullopt);

  // The next event, waiting for it if need be; nullopt once the session has ended and all is read. One at
  // a time; the feed must outlive it.
  boost::asio::awaitable<std::optional<FeedEvent>> next();

 private:
  std::shared_ptr<FeedLog> log_;
  std::uint64_t place_;             // the next to take
  bool is_cursor_unknown_ = false;  // the gap before it has not been told yet
};

}  // namespace vitrine::session
