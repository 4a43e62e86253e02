// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <algorithm>

#include "backend/clock.h"
#include "backend/spawn.h"
#include "session/execution_captures.h"
#include "session/ids_and_time.h"
#include "session/to_worker.h"
#include "session/worker_connection.h"

namespace vitrine::session {

using boost::system::error_code;

namespace {

// An execution that lasts is put under the keeper's watch; most are over long before.
constexpr std::chrono::milliseconds kUnwatched{20};
constexpr std::chrono::milliseconds kStackTime{1000};
constexpr std::chrono::milliseconds kResumeGrace{1000};  // as the keeper gives an execution
constexpr int kFramesOfTheDead =
    4096;  // more than a socket holds, unless somebody goes on filling it

}  // namespace

Session::Session(SessionContext context, std::string name, std::string at, SessionSpec wanted)
    : id(std::move(name)),
      created_at(std::move(at)),
      executor_(context.executor),
      keeper_(context.keeper),
      accounts_(context.accounts),
      observer_(context.observer),
      package_questions_(context.package_questions),
      image_pool_(std::move(context.image_pool)),
      screen_(executor_, keeper_),
      spec_(std::move(wanted)),
      feed_(std::make_shared<FeedLog>(executor_)),
      watch_timer_(executor_),
      stack_told_(executor_) {}

void Session::connect(std::uint64_t number, WorkerFds fds, Origin origin) {
  disconnect();
  if (origin == Origin::fresh && keeper_id_ != 0) feed_->append("", SessionReset{});
  keeper_id_ = number;
  death_.reset();
  connection_ = std::make_shared<Connection>(executor_, std::move(fds), origin);
  replaying_ = origin == Origin::adopted;
  replayed_ = 0;
  if (origin == Origin::adopted) {
    resume_token_ = new_token();
    connection_->socket->send(wire::Type::resume, 0, wire::Resume{resume_token_}.encode());
  } else {
    last_number_ = 0;
    if (const std::optional<wire::Setup> setup = setup_of(spec_))
      connection_->socket->send(wire::Type::setup, 0, setup->encode());
  }
  auto self = shared_from_this();
  const auto frames = [](auto me, auto to) -> Task<void> { co_await me->read_frames(to); };
  spawn(executor_, frames(self, connection_), "worker's messages");
  const auto pipe = [](auto me, auto to, Stream which) -> Task<void> {
    co_await me->read_pipe(to, which);
  };
  for (Stream stream : {Stream::out, Stream::err})
    spawn(executor_, pipe(self, connection_, stream), "worker's output");
  const auto network = [](auto me, auto to) -> Task<void> { co_await me->read_network(to); };
  if (connection_->network) spawn(executor_, network(self, connection_), "network log");
}

void Session::disconnect() {
  if (!connection_) return;
  connection_->close();
  connection_.reset();
}

void Session::restore(std::uint64_t number, const std::optional<store::ExecRow>& running,
                      std::uint64_t watched) {
  keeper_id_ = number;
  if (!running) return;
  ExecRequest request{.code = running->code};
  if (running->limit_ms > 0) request.timeout = std::chrono::milliseconds(running->limit_ms);
  current_ = std::make_shared<Execution>(
      executor_, std::move(request), static_cast<std::size_t>(spec_.limits.output_bytes), feed_);
  current_->stored = is_stored(spec_);
  current_->record.id = running->id;
  current_->record.session = id;
  current_->record.code = running->code;
  current_->record.started_at = running->started_at;
  current_->record.policy = spec_.policy;
  current_->number = running->number;
  last_number_ = running->number;
  current_->started = Clock::now();
  current_->add_note("the server was restarted while this ran: output from before is missing");
  // The keeper has kept the deadline it was told; only what it never applied of gets a new one.
  current_->watched = watched == current_->number;
  if (!current_->watched) arm_watch();
}

Result<std::shared_ptr<Execution>> Session::execute(ExecRequest request) {
  if (death_ || ended_ || !connection_)
    return Error{.code = Code::unavailable,
                 .message = "the session is dead",
                 .remedy = "reset the session, or create another"};
  if (queue_.size() >= kMaxQueue)
    return Error{.code = Code::over_limit,
                 .message = "16 executions are already queued",
                 .remedy = "wait for one to finish, or interrupt it",
                 .reason = "queue_full"};
  if (auto refusal = accounts_.refuses_execution(spec_.owner)) return std::move(*refusal);
  accounts_.execution_begins(spec_.owner);
  auto execution = std::make_shared<Execution>(
      executor_, std::move(request), static_cast<std::size_t>(spec_.limits.output_bytes), feed_);
  execution->stored = is_stored(spec_);
  execution->record.session = id;
  execution->record.code = execution->request.code;
  execution->record.policy = spec_.policy;
  execution->record.wants_screenshot = execution->request.capture_screenshot;
  execution->record.wants_frames = execution->request.strip.has_value();
  queue_.push_back(execution);
  touch();
  if (!current_ && !replaying_) begin_next();
  else if (!current_ && queue_.size() == 1)
    arm_resume_limit(execution->request.timeout.value_or(spec_.limits.exec_time));
  return execution;
}

void Session::begin_next() {
  if (queue_.empty() || !connection_) return;
  current_ = std::move(queue_.front());
  queue_.pop_front();
  current_->number = ++last_number_;
  current_->started = Clock::now();
  current_->cpu_before_us = connection_->meters.cpu_us().value_or(0);
  const ExecRequest& request = current_->request;
  // First, or a front that dies between the two leaves code running of which the next one knows nothing:
  // without a record, and without a deadline.
  tell_begun(*current_);
  connection_->socket->send(wire::Type::execute, current_->number,
                            execute_of(request, spec_.limits).encode());
  arm_watch();
  if (request.capture_screenshot || request.strip) begin_captures();
}

void Session::begin_captures() {
  const std::uint64_t number = current_->number;
  // They live no longer than their coroutines, which hold the session.
  CaptureHooks hooks{
      .cpu_us = [this] { return connection_ ? connection_->meters.cpu_us().value_or(0) : 0; },
      .end_loop =
          [this, number](wire::Screen seen) {
            keeper_.post(wire::EndLoop{keeper_id_, number, seen});
          },
      .captured =
          [this, number] {
            if (connection_ && current_ && current_->number == number && !death_)
              connection_->socket->send(wire::Type::captured, number, "");
          }};
  const ExecutionCaptures::Place place{screen_, image_pool_, keeper_id_, spec_.display};
  current_->captures =
      std::make_shared<ExecutionCaptures>(executor_, place, current_, std::move(hooks));
  const auto start = [&](CaptureKind sight) {
    spawn(
        executor_,
        [](auto self, auto execution, CaptureKind which) -> Task<void> {
          co_await self->run_capture(execution, which);
        }(shared_from_this(), current_, sight),
        "capture");
  };
  if (current_->request.capture_screenshot) start(CaptureKind::screenshot);
  if (current_->request.strip) start(CaptureKind::filmstrip);
}

Task<void> Session::run_capture(std::shared_ptr<Execution> execution, CaptureKind which) {
  std::shared_ptr<ExecutionCaptures> captures = execution->captures;
  if (which == CaptureKind::screenshot) {
    const Pictured told = co_await captures->take_picture(execution);
    observer_.screenshot_taken(told);
  } else {
    co_await captures->take_strip(execution);
  }
  if (!execution->ending || current_ != execution || captures->any()) co_return;
  const Execution::Ending ending = *execution->ending;
  conclude(ending.outcome, ending.exit_code, ending.state_kept);
}

void Session::end_current(Outcome outcome, int exit_code, bool state_kept) {
  if (!current_->captures || !current_->captures->any())
    return conclude(outcome, exit_code, state_kept);
  // Its time is not running any more.
  watch_timer_.cancel();
  if (std::exchange(current_->watched, false) && !death_)
    keeper_.post(wire::Unwatch{keeper_id_, current_->number});
  if (!current_->ending) {
    measure(*current_);
    current_->ending = Execution::Ending{outcome, exit_code, state_kept};
  }
  current_->captures->ended(state_kept ? Capture::Worker::alive : Capture::Worker::dead);
}

void Session::display_started() {
  screen_.started();
  if (current_ && current_->captures) current_->captures->display_changed();
}

void Session::display_died(const std::string& detail) {
  screen_.died(detail);
  if (current_ && current_->captures) current_->captures->display_changed();
}

void Session::arm_watch() {
  const std::uint64_t number = current_->number;
  const auto limit = current_->request.timeout.value_or(spec_.limits.exec_time);
  watch_timer_.expires_after(std::min(kUnwatched, limit));
  watch_timer_.async_wait([self = shared_from_this(), number](error_code cancelled) {
    if (cancelled || !self->current_ || self->current_->number != number) return;
    self->watch_now();
  });
}

void Session::watch_now() {
  const auto limit = current_->request.timeout.value_or(spec_.limits.exec_time);
  const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
      Clock::now() - current_->started - current_->time_installing());
  const auto left = std::max(limit - spent, std::chrono::milliseconds(1));
  current_->watched = true;
  keeper_.post(wire::Watch{keeper_id_, current_->number, static_cast<std::uint64_t>(left.count())});
}

void Session::begin_installing(Execution& execution) {
  if (current_.get() != &execution || execution.installing_since || execution.ending) return;
  execution.installing_since = Clock::now();
  watch_timer_.cancel();
  if (std::exchange(execution.watched, false) && !death_)
    keeper_.post(wire::Unwatch{keeper_id_, execution.number});
}

// The watch begins at once, and not when kUnwatched is over: code that installs again and again would
// never be watched.
void Session::end_installing(Execution& execution) {
  if (!execution.installing_since) return;
  execution.installing = execution.time_installing();
  execution.installing_since.reset();
  if (current_.get() == &execution && !execution.ending && !death_) watch_now();
}

void Session::arm_resume_limit(std::chrono::milliseconds limit) {
  watch_timer_.expires_after(limit + kResumeGrace);
  watch_timer_.async_wait([self = shared_from_this()](error_code cancelled) {
    if (cancelled || !self->replaying_ || self->current_) return;
    self->break_off(Error{Code::timed_out, "it did not answer after a restart of the server"});
  });
}
void Session::conclude_network(Execution& done) {
  if (!spec_.network) return;
  done.record.network.emplace();
  if (!connection_ || !connection_->network) return;
  NetworkLog::Report report = connection_->network->conclude(
      [this](const NetworkEntry& entry) { observer_.network_decided(id, entry); });
  done.record.network = std::move(report.entries);
  done.record.network_omitted = report.omitted;
  for (std::string& note : report.notes) done.add_note(std::move(note));
}
void Session::measure(Execution& done) {
  drain_pipes();
  done.record.usage.wall_ms =
      std::chrono::duration<double, std::milli>(Clock::now() - done.started).count();
  if (!connection_) return;
  if (const std::optional<std::uint64_t> now = connection_->meters.cpu_us())
    done.record.usage.cpu_ms =
        *now > done.cpu_before_us ? static_cast<double>(*now - done.cpu_before_us) / 1000 : 0;
  if (const std::optional<std::uint64_t> peak = connection_->meters.peak_kb())
    done.record.usage.peak_memory_kb = *peak;
}

void Session::conclude(Outcome outcome, int exit_code, bool state_kept) {
  watch_timer_.cancel();
  if (!current_->ending) measure(*current_);
  std::shared_ptr<Execution> done = std::move(current_);
  current_.reset();
  if (done->watched && !death_) keeper_.post(wire::Unwatch{keeper_id_, done->number});
  if (outcome == Outcome::timeout && !done->stack.empty() && !done->record.error)
    done->add_error({"TimeoutError", "the execution was stopped at its time limit", done->stack});
  done->record.outcome = outcome;
  done->record.exit_code = exit_code;
  done->record.state_kept = state_kept;
  conclude_network(*done);
  for (std::string& note : screen_.take_notes()) done->add_note(std::move(note));
  done->finish();
  observer_.ended(*done);
  touch();
  stack_told_.notify_all();
  if (!death_ && !replaying_) begin_next();
}

void Session::tell_begun(Execution& execution) {
  observer_.begun(execution);
  if (feed_->is_read()) feed_->append(execution.record.id, ExecutionBegun{execution.record.code});
}

void Session::never_began(Execution& execution, const char* note) {
  tell_begun(execution);
  execution.add_note(note);
  execution.finish();
  observer_.ended(execution);
}

void Session::break_off(const Error& why) {
  if (connection_) connection_->socket->stop();
  notes_.push_back("the worker broke the protocol and was ended: " + why.message);
  keeper_.post(wire::Kill{keeper_id_});
}

void Session::interrupt(const Execution* execution) {
  auto waiting = std::ranges::find_if(
      queue_, [&](const auto& one) { return execution != nullptr && one.get() == execution; });
  if (waiting != queue_.end()) {
    std::shared_ptr<Execution> dropped = *waiting;
    queue_.erase(waiting);
    dropped->record.outcome = Outcome::interrupted;
    dropped->record.exit_code = 130;
    never_began(*dropped, "it was queued and never began");
    return;
  }
  if (current_ && (execution == nullptr || current_.get() == execution))
    keeper_.post(wire::Interrupt{keeper_id_, current_->number});
}

void Session::answer_input(const Execution& execution, std::optional<std::string> line) {
  if (current_.get() != &execution || !connection_) return;
  const wire::Input input{.end_of_file = !line, .bytes = line.value_or("")};
  connection_->socket->send(wire::Type::input, execution.number, input.encode());
}

void Session::answer_packages(const Execution& execution, const wire::PackageReply& reply) {
  if (current_.get() != &execution || !connection_) return;
  connection_->socket->send(wire::Type::package_reply, execution.number, reply.encode());
}

Task<std::optional<std::string>> Session::stack() {
  const std::shared_ptr<Execution> asked = current_;
  if (!asked) co_return "";
  const std::uint64_t before = asked->stacks;
  keeper_.post(wire::AskStack{keeper_id_, asked->number});
  const auto latest = Clock::now() + kStackTime;
  while (asked->stacks == before && asked == current_ && Clock::now() < latest)
    co_await stack_told_.wait(latest);
  if (asked->stacks != before) co_return asked->stack;
  if (asked != current_) co_return "";
  co_return std::nullopt;
}

void Session::deadline_passed(std::uint64_t number) {
  if (current_ && current_->number == number) current_->timed_out = true;
}

void Session::died(const Death& how) {
  // What it still managed to say counts: it may have finished before it died.
  if (connection_ && !connection_->over()) take_frames(*connection_, kFramesOfTheDead);
  death_ = how;
  watch_timer_.cancel();
  if (current_) {
    const Verdict verdict = verdict_of(how);
    end_current(verdict.outcome, verdict.exit_code, false);
  }
  for (auto& waiting : std::exchange(queue_, {})) {
    waiting->record.outcome = Outcome::crashed;
    waiting->record.exit_code = 1;
    waiting->record.state_kept = false;
    never_began(*waiting, "it never began: the session died before its turn");
  }
  feed_->append("", SessionDied{how});
  disconnect();
}

}  // namespace vitrine::session
