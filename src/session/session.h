// SPDX-License-Identifier: Apache-2.0
// One session as the front knows it: a worker's socket and pipes, a queue of executions, a fate.
//
// Ownership: the registry holds it; coroutines that read from the worker keep it alive while they run.
// Threading: the front's one thread; one execution at a time, up to kMaxQueue more wait in order.
// Trust:     every byte from the socket and the pipes was chosen by untrusted code. A worker that
//            breaks the protocol is killed; timeouts, memory and death are the keeper's word alone.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/clock.h"
#include "backend/keeper_link.h"
#include "session/capture.h"
#include "session/execution.h"
#include "session/lines.h"
#include "session/spec.h"
#include "session/worker_socket.h"
#include "store/store.h"

namespace vitrine::session {

inline constexpr std::size_t kMaxQueue = 16;

class Session;

// Called when an execution begins and when it ends, before anybody is told; `admit` before it is
// queued.
struct Journal {
  std::function<Status(const std::string& owner)> admit;
  std::function<void(Execution&)> begun;
  std::function<void(Execution&)> ended;
  std::function<void(const std::string& session, const NetworkEntry& entry)> decided;
  std::function<void(const Pictured&)> pictured;
  // The code of this execution requests packages, named by untrusted code, and waits for
  // Session::answer_packages().
  std::function<void(std::shared_ptr<Session>, std::shared_ptr<Execution>,
                     std::vector<std::string>)>
      wants;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(asio::any_io_executor executor, backend::KeeperLink& keeper, Journal journal,
          std::shared_ptr<display::ImagePool> image_pool, std::string id, SessionSpec spec);

  using Line = WorkerSocket::Line;
  // Takes over the lines of a worker.
  void connect(std::uint64_t engine, Lines lines, Line line);
  void disconnect();
  // Before connect() of an adopted one: the execution that was running when the front before died.
  // `watched` is the one whose deadline the keeper has.
  void restore(const std::optional<store::ExecRow>& running, std::uint64_t watched);

  // Queues it. `unavailable` = the session is dead, or its owner began too many; `over_limit` = the
  // queue is full.
  Result<std::shared_ptr<Execution>> execute(ExecRequest request);
  // Of this execution, running or waiting; nothing if it is over. Null = whichever is running.
  void interrupt(const Execution* execution);
  void answer_input(const Execution& execution, std::optional<std::string> line);
  void answer_packages(const Execution& execution, const wire::PackageReply& reply);
  // Where it is running now; "" when idle, nullopt when it did not answer in time.
  Task<std::optional<std::string>> stack();

  // The keeper's word.
  void died(const Death& death);
  void deadline_passed(std::uint64_t number);
  void display_started();
  void display_died(const std::string& detail);

  display::Screen screen;

  const std::string id;
  SessionSpec spec;
  std::string created_at;
  std::uint64_t engine = 0;
  std::optional<Death> death;
  std::vector<std::string> notes;
  bool frozen = false;
  bool ended = false;  // being or having been deleted
  // Idle means: nothing runs or waits, and nobody is attached.
  Clock::time_point last_used = Clock::now();
  bool busy() const { return current_ != nullptr || !queue_.empty(); }
  int attached = 0;
  void touch() { last_used = Clock::now(); }
  const Execution* current() const { return current_.get(); }

 private:
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
  void begin_sights();
  enum class Sight { picture, strip };
  Task<void> see(std::shared_ptr<Execution> execution, Sight which);
  void never_began(Execution& execution, const char* note);
  void break_off(const Error& why);
  void arm_watch();
  // Executions wait for an adopted worker's `ready`. Their time limit holds meanwhile, too.
  void arm_resume_limit(std::chrono::milliseconds limit);

  asio::any_io_executor executor_;
  backend::KeeperLink& keeper_;
  Journal journal_;
  std::shared_ptr<display::ImagePool> image_pool_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<Execution> current_;
  std::deque<std::shared_ptr<Execution>> queue_;
  std::uint64_t last_number_ = 0;
  std::uint64_t replayed_ = 0;  // adopted: the execution whose messages come again after `ready`
  bool replaying_ = false;      // adopted: what comes before the worker's `ready` will come again
  std::uint64_t resume_token_ = 0;  // of the `resume` that this `ready` answers
  Timer watch_timer_;
  Changes stack_told_;
};

}  // namespace vitrine::session
