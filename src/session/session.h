// SPDX-License-Identifier: Apache-2.0
// One session as the front knows it: a worker's socket and pipes, a queue of executions, a fate.
//
// Ownership: the registry holds it; coroutines that read from the worker keep it alive while they run.
// Threading: the front's one thread; one execution at a time, up to kMaxQueue more wait in order.
// Trust:     every byte from the socket and the pipes was chosen by untrusted code. A worker that
//            breaks the protocol is killed; timeouts, memory and death are the keeper's word alone.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/clock.h"
#include "backend/keeper_link.h"
#include "session/accounts.h"
#include "session/capture.h"
#include "session/execution.h"
#include "session/feed.h"
#include "session/observer.h"
#include "session/package_questions.h"
#include "session/spec.h"
#include "session/worker_fds.h"
#include "session/worker_socket.h"
#include "store/store.h"

namespace vitrine::session {

inline constexpr std::size_t kMaxQueue = 16;

// What the sessions of a server share. All of it outlives them.
struct SessionContext {
  asio::any_io_executor executor;
  backend::KeeperLink& keeper;
  Accounts& accounts;  // asked before an execution is queued
  ExecutionObserver& observer;
  PackageQuestions& package_questions;
  std::shared_ptr<display::ImagePool> image_pool;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionContext context, std::string id, std::string created_at, SessionSpec spec);

  using Origin = WorkerSocket::Origin;
  // Takes over the lines of a worker.
  void connect(std::uint64_t keeper_id, WorkerFds fds, Origin origin);
  void disconnect();
  // Before connect() of an adopted one: what the keeper calls it, and the execution that was running
  // when the front before died. `watched` is the one whose deadline the keeper has.
  void restore(std::uint64_t keeper_id, const std::optional<store::ExecRow>& running,
               std::uint64_t watched);

  // Queues it. `unavailable` = the session is dead, or its owner began too many; `over_limit` = the
  // queue is full.
  Result<std::shared_ptr<Execution>> execute(ExecRequest request);
  // Of this execution, running or waiting; nothing if it is over. Null = whichever is running.
  void interrupt(const Execution* execution);
  void answer_input(const Execution& execution, std::optional<std::string> line);
  void answer_packages(const Execution& execution, const wire::PackageReply& reply);
  // Between the two the execution's time limit does not count: it waits for packages.
  void begin_installing(Execution& execution);
  void end_installing(Execution& execution);
  // What happens in it from now on, or after the event with this cursor.
  Feed feed(std::optional<std::uint64_t> after = std::nullopt) { return Feed(feed_, after); }
  // Where it is running now; "" when idle, nullopt when it did not answer in time.
  Task<std::optional<std::string>> stack();

  // The keeper's word.
  void died(const Death& death);
  void deadline_passed(std::uint64_t number);
  void display_started();
  void display_died(const std::string& detail);

  const std::string id;
  const std::string created_at;
  const SessionSpec& spec() const { return spec_; }
  std::uint64_t keeper_id() const { return keeper_id_; }  // what the keeper calls it
  display::Screen& screen() { return screen_; }
  const display::Screen& screen() const { return screen_; }
  const std::optional<Death>& death() const { return death_; }
  const std::vector<std::string>& notes() const { return notes_; }
  bool is_frozen() const { return frozen_; }
  bool is_ended() const { return ended_; }  // being or having been deleted
  bool is_usable() const { return !death_ && !ended_; }
  bool busy() const { return current_ != nullptr || !queue_.empty(); }
  const Execution* current() const { return current_.get(); }

  // Counts as use. Idle means: nothing runs or waits, and nobody is attached.
  void touch() { last_used_ = Clock::now(); }
  // Keeps the session from being idle while it lives. It holds the session, too.
  class Attachment {
   public:
    Attachment() = default;
    explicit Attachment(std::shared_ptr<Session> session) : session_(std::move(session)) {
      ++session_->attached_;
    }
    Attachment(Attachment&& other) noexcept = default;
    Attachment& operator=(Attachment&& other) noexcept {
      std::swap(session_, other.session_);
      return *this;
    }
    ~Attachment() {
      if (!session_) return;
      --session_->attached_;
      session_->touch();
    }

   private:
    std::shared_ptr<Session> session_;
  };
  Attachment attach() { return Attachment(shared_from_this()); }

 private:
  friend class Registry;  // decides about rest, layers and the end of sessions
  struct Connection;

  Task<void> rest(std::chrono::milliseconds time);
  Task<void> read_frames(std::shared_ptr<Connection> connection);
  Task<void> read_pipe(std::shared_ptr<Connection> connection, Stream stream);
  Task<void> read_network(std::shared_ptr<Connection> connection);
  bool take_frames(Connection& connection, int most);
  void conclude_network(Execution& done);
  void take(const wire::Message& message);
  void begin_next();
  void drain_pipes();
  // At once, or as soon as its picture is there.
  void end_current(Outcome outcome, int exit_code, bool state_kept);
  void measure(Execution& done);
  void conclude(Outcome outcome, int exit_code, bool state_kept);
  void begin_captures();
  enum class CaptureKind { screenshot, filmstrip };
  Task<void> run_capture(std::shared_ptr<Execution> execution, CaptureKind which);
  void tell_begun(Execution& execution);
  void never_began(Execution& execution, const char* note);
  void break_off(const Error& why);
  void arm_watch();
  void watch_now();
  // Executions wait for an adopted worker's `ready`. Their time limit holds meanwhile, too.
  void arm_resume_limit(std::chrono::milliseconds limit);

  asio::any_io_executor executor_;
  backend::KeeperLink& keeper_;
  Accounts& accounts_;
  ExecutionObserver& observer_;
  PackageQuestions& package_questions_;
  std::shared_ptr<display::ImagePool> image_pool_;
  display::Screen screen_;
  SessionSpec spec_;
  std::uint64_t keeper_id_ = 0;
  std::optional<Death> death_;
  std::vector<std::string> notes_;
  bool frozen_ = false;
  bool ended_ = false;
  int attached_ = 0;
  Clock::time_point last_used_ = Clock::now();
  std::shared_ptr<FeedLog> feed_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<Execution> current_;
  std::deque<std::shared_ptr<Execution>> queue_;
  std::uint64_t last_number_ = 0;
  std::uint64_t replayed_ = 0;  // adopted: the execution whose messages come again after `ready`
  bool replaying_ = false;      // adopted: what comes before the worker's `ready` will come again
  std::uint64_t resume_token_ = 0;  // of the `resume` that this `ready` answers
  Timer watch_timer_;
  Condition stack_told_;
};

}  // namespace vitrine::session
