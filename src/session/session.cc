// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "backend/clock.h"
#include "backend/spawn.h"
#include "session/hearing.h"
#include "session/lines.h"
#include "session/meters.h"
#include "session/network_line.h"
#include "session/output_pipe.h"
#include "session/pace.h"
#include "session/sights.h"
#include "session/stamps.h"
#include "session/to_worker.h"

namespace vitrine::session {

using boost::system::error_code;

namespace {

// An execution that lasts is put under the keeper's watch; most are over long before.
constexpr std::chrono::milliseconds kUnwatched{20};
constexpr std::chrono::milliseconds kStackTime{1000};
constexpr std::chrono::milliseconds kDeathNotice{300};
constexpr std::chrono::milliseconds kResumeGrace{1000};  // as the keeper gives an execution
constexpr std::chrono::milliseconds kBetweenExecutions{50};
constexpr std::size_t kMaxBacklog = 256 * 1024;
constexpr int kFramesAtOnce = 64;  // then others have their turn
constexpr int kFramesPerBreath = 16;
constexpr int kFramesFreely = 256;  // looks, before a breath is due after each
constexpr int kReadsFreely = 32;
constexpr int kFramesOfTheDead =
    4096;  // more than a socket holds, unless somebody goes on filling it
// Ids that the client gives rise from 1; no worker has seen one like this.
constexpr std::uint64_t kAbsurdExecution = 1ull << 48;

}  // namespace

// What ties the session to its worker: all of it is taken over, and closed, together.
struct Session::Connection {
  Connection(asio::any_io_executor executor, Lines lines, Line line)
      : socket(std::make_shared<WorkerSocket>(executor, std::move(lines.socket), line)),
        out(executor, std::move(lines.out)),
        err(executor, std::move(lines.err)),
        meters(std::move(lines.cpu), std::move(lines.peak)) {
    if (lines.network)
      network.emplace(executor, std::move(lines.network), std::move(lines.counters));
  }

  // Nothing that comes is taken any more.
  bool over() const { return socket->stopped(); }
  void close() {
    socket->close();
    out.close();
    err.close();
    if (network) network->close();
  }
  OutputPipe& pipe(Stream stream) { return stream == Stream::out ? out : err; }

  std::shared_ptr<WorkerSocket> socket;
  OutputPipe out;
  OutputPipe err;
  Meters meters;
  std::optional<NetworkLine> network;
};

Session::Session(asio::any_io_executor executor, backend::KeeperLink& keeper, Journal journal,
                 std::shared_ptr<display::ImagePool> image_pool, std::string name,
                 SessionSpec wanted)
    : screen(executor, keeper),
      id(std::move(name)),
      spec(std::move(wanted)),
      executor_(executor),
      keeper_(keeper),
      journal_(std::move(journal)),
      image_pool_(std::move(image_pool)),
      watch_timer_(executor),
      stack_told_(executor) {}

void Session::connect(std::uint64_t number, Lines lines, Line line) {
  disconnect();
  engine = number;
  death.reset();
  connection_ = std::make_shared<Connection>(executor_, std::move(lines), line);
  replaying_ = line == Line::adopted;
  replayed_ = 0;
  if (line == Line::adopted) {
    resume_token_ = new_token();
    connection_->socket->send(wire::Type::resume, 0, wire::Resume{resume_token_}.encode());
  } else {
    last_number_ = 0;
    if (const std::optional<wire::Setup> setup = setup_of(spec))
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

void Session::restore(const std::optional<store::ExecRow>& running, std::uint64_t watched) {
  if (!running) return;
  ExecRequest request{.code = running->code};
  if (running->limit_ms > 0) request.timeout = std::chrono::milliseconds(running->limit_ms);
  current_ = std::make_shared<Execution>(executor_, std::move(request),
                                         static_cast<std::size_t>(spec.limits.output_bytes));
  current_->record.id = running->id;
  current_->record.session = id;
  current_->record.code = running->code;
  current_->record.started_at = running->started_at;
  current_->record.policy = spec.policy;
  current_->number = running->number;
  last_number_ = running->number;
  current_->started = Clock::now();
  current_->add_note("the server was restarted while this ran: output from before is missing");
  // The keeper has kept the deadline it was told; only what it never heard of gets a new one.
  current_->watched = watched == current_->number;
  if (!current_->watched) arm_watch();
}

Result<std::shared_ptr<Execution>> Session::execute(ExecRequest request) {
  if (death || ended || !connection_)
    return Error{.code = Code::unavailable,
                 .message = "the session is dead",
                 .remedy = "reset the session, or create another"};
  if (queue_.size() >= kMaxQueue)
    return Error{.code = Code::over_limit,
                 .message = "16 executions are waiting already",
                 .remedy = "wait for one to finish, or interrupt it"};
  if (Status admitted = journal_.admit(spec.owner); !admitted) return std::move(admitted.error());
  auto execution = std::make_shared<Execution>(executor_, std::move(request),
                                               static_cast<std::size_t>(spec.limits.output_bytes));
  execution->record.session = id;
  execution->record.code = execution->request.code;
  execution->record.policy = spec.policy;
  execution->record.wants_screenshot = execution->request.capture_screenshot;
  execution->record.wants_frames = execution->request.strip.has_value();
  queue_.push_back(execution);
  touch();
  if (!current_ && !replaying_) begin_next();
  else if (!current_ && queue_.size() == 1)
    arm_resume_limit(execution->request.timeout.value_or(spec.limits.exec_time));
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
  journal_.begun(*current_);
  connection_->socket->send(wire::Type::execute, current_->number,
                            execute_of(request, spec.limits).encode());
  arm_watch();
  if (request.capture_screenshot || request.strip) begin_sights();
}

void Session::begin_sights() {
  const std::uint64_t number = current_->number;
  // They live no longer than their coroutines, which hold the session.
  CaptureHooks hooks{
      .cpu_us = [this] { return connection_ ? connection_->meters.cpu_us().value_or(0) : 0; },
      .end_loop =
          [this, number](wire::Screen seen) {
            keeper_.post(wire::EndLoop{engine, number, seen});
          },
      .captured =
          [this, number] {
            if (connection_ && current_ && current_->number == number && !death)
              connection_->socket->send(wire::Type::captured, number, "");
          }};
  const Sights::Place place{screen, image_pool_, engine, spec.display};
  current_->sights = std::make_shared<Sights>(executor_, place, current_, std::move(hooks));
  const auto start = [&](Sight sight) {
    spawn(
        executor_,
        [](auto self, auto execution, Sight which) -> Task<void> {
          co_await self->see(execution, which);
        }(shared_from_this(), current_, sight),
        "capture");
  };
  if (current_->request.capture_screenshot) start(Sight::picture);
  if (current_->request.strip) start(Sight::strip);
}

Task<void> Session::see(std::shared_ptr<Execution> execution, Sight which) {
  std::shared_ptr<Sights> sights = execution->sights;
  if (which == Sight::picture) {
    const Pictured told = co_await sights->take_picture(execution);
    journal_.pictured(told);
  } else {
    co_await sights->take_strip(execution);
  }
  if (!execution->ending || current_ != execution || sights->any()) co_return;
  const Execution::Ending ending = *execution->ending;
  conclude(ending.outcome, ending.exit_code, ending.state_kept);
}

void Session::end_current(Outcome outcome, int exit_code, bool state_kept) {
  if (!current_->sights || !current_->sights->any())
    return conclude(outcome, exit_code, state_kept);
  // Its time is not running any more.
  watch_timer_.cancel();
  if (std::exchange(current_->watched, false) && !death)
    keeper_.post(wire::Unwatch{engine, current_->number});
  if (!current_->ending) {
    measure(*current_);
    current_->ending = Execution::Ending{outcome, exit_code, state_kept};
  }
  current_->sights->ended(state_kept ? Capture::Worker::alive : Capture::Worker::dead);
}

void Session::display_started() {
  screen.started();
  if (current_ && current_->sights) current_->sights->display_changed();
}

void Session::display_died(const std::string& detail) {
  screen.died(detail);
  if (current_ && current_->sights) current_->sights->display_changed();
}

void Session::arm_watch() {
  const std::uint64_t number = current_->number;
  const auto limit = current_->request.timeout.value_or(spec.limits.exec_time);
  watch_timer_.expires_after(std::min(kUnwatched, limit));
  watch_timer_.async_wait([self = shared_from_this(), number, limit](error_code cancelled) {
    if (cancelled || !self->current_ || self->current_->number != number) return;
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
        Clock::now() - self->current_->started);
    const auto left = std::max(limit - spent, std::chrono::milliseconds(1));
    self->current_->watched = true;
    self->keeper_.post(wire::Watch{self->engine, number, static_cast<std::uint64_t>(left.count())});
  });
}

void Session::arm_resume_limit(std::chrono::milliseconds limit) {
  watch_timer_.expires_after(limit + kResumeGrace);
  watch_timer_.async_wait([self = shared_from_this()](error_code cancelled) {
    if (cancelled || !self->replaying_ || self->current_) return;
    self->break_off(Error{Code::timed_out, "it did not answer after a restart of the server"});
  });
}

// False at the end of the stream or after a breach.
bool Session::take_frames(Connection& connection, int most) {
  const std::shared_ptr<WorkerSocket> socket = connection.socket;
  Result<bool> more = socket->take(most, [this](const wire::Message& message) { take(message); });
  if (!more) break_off(more.error());
  return more && *more;
}

Task<void> Session::rest(std::chrono::milliseconds time) {
  Timer pause(executor_, time);
  error_code ignored;
  co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

Task<void> Session::read_frames(std::shared_ptr<Connection> connection) {
  Pace pace(kFramesFreely);
  int most = kFramesAtOnce;
  while (!connection->over()) {
    if (!co_await connection->socket->readable()) co_return;
    if (!take_frames(*connection, most)) break;
    const bool tired = pace.tires(last_number_);
    most = tired ? kFramesPerBreath : kFramesAtOnce;
    if (tired) co_await rest(Pace::kBreath);
  }
  // The worker closed its end. Usually it is dead, and the keeper is about to say why; if it lives on,
  // nothing it does can be believed any more.
  co_await rest(kDeathNotice);
  if (!connection->over() && !death) keeper_.post(wire::Kill{engine});
}

Task<void> Session::read_network(std::shared_ptr<Connection> connection) {
  const auto decided = [this](const NetworkEntry& entry) { journal_.decided(id, entry); };
  while (!connection->over()) {
    if (!co_await connection->network->readable() || connection->over()) co_return;
    if (!connection->network->take(decided)) co_return;
  }
}

void Session::conclude_network(Execution& done) {
  if (!spec.network) return;
  done.record.network.emplace();
  if (!connection_ || !connection_->network) return;
  NetworkLog::Report report = connection_->network->conclude(
      [this](const NetworkEntry& entry) { journal_.decided(id, entry); });
  done.record.network = std::move(report.entries);
  done.record.network_omitted = report.omitted;
  for (std::string& note : report.notes) done.add_note(std::move(note));
}

Task<void> Session::read_pipe(std::shared_ptr<Connection> connection, Stream stream) {
  OutputPipe& pipe = connection->pipe(stream);
  std::string buffer;
  Pace pace(kReadsFreely);
  while (!connection->over()) {
    if (!co_await pipe.readable()) co_return;
    if (!current_) {
      // Nothing runs: what comes now belongs to the next execution, and stays in the pipe for it.
      co_await pipe.look_away(kBetweenExecutions);
      continue;
    }
    std::shared_ptr<Execution> execution = current_;
    co_await execution->events()->caught_up(kMaxBacklog);
    if (connection->over() || execution != current_) continue;
    const std::optional<std::size_t> got = pipe.read(buffer);
    if (!got) co_return;
    if (*got == 0) continue;
    execution->add_output(stream, std::string_view(buffer.data(), *got));
    if (pace.tires(execution->number)) co_await pipe.look_away(Pace::kBreath);
  }
}

void Session::drain_pipes() {
  if (!connection_ || !current_) return;
  for (Stream stream : {Stream::out, Stream::err})
    connection_->pipe(stream).drain(
        [&](std::string_view bytes) { current_->add_output(stream, bytes); });
}

void Session::take(const wire::Message& message) {
  const bool on = current_ && message.execution == current_->number;
  if (message.type == wire::Type::stack || message.type == wire::Type::line) {
    if (!on) {
      Result<wire::Line> line = wire::Line::decode(message.payload);
      if (message.type == wire::Type::line && !line) break_off(line.error());
      return;
    }
    if (Status heard = hear(message, *current_); !heard) return break_off(heard.error());
    if (message.type == wire::Type::stack) stack_told_.tell();
    return;
  }
  if (message.type == wire::Type::ready) {  // the answer to resume: it is idle
    Result<wire::Ready> ready = wire::Ready::decode(message.payload);
    if (!ready) return break_off(ready.error());
    if (!replaying_) return break_off(Error{Code::invalid_argument, "it says ready unasked"});
    if (ready->last_execution >= kAbsurdExecution)
      return break_off(Error{Code::invalid_argument, "an execution that nobody asked for"});
    // Fronts before this one asked, too, and died before they read the answer.
    if (ready->token != resume_token_) return;
    last_number_ = std::max(last_number_, ready->last_execution);
    replayed_ = ready->last_execution;
    replaying_ = false;
    if (current_ && current_->number != ready->last_execution) {
      current_->add_note("the server was restarted before the code reached the session");
      conclude(Outcome::crashed, 1, true);
    } else if (!current_) {
      begin_next();
    }
    return;
  }
  const bool old = message.execution == replayed_ || message.execution == last_number_;
  if (replaying_ || (old && !on)) return;
  if (!on)
    return break_off(Error{Code::invalid_argument, "a message for an execution that is not on"});
  if (current_->ending) return;  // it has finished, and only its picture is missing
  switch (message.type) {
    case wire::Type::painted:
      // Once: what it says more often is no reason to send more often.
      if (std::exchange(current_->painted, true)) return;
      if (current_->sights && current_->sights->painted()) return;
      return connection_->socket->send(wire::Type::captured, current_->number, "");
    case wire::Type::input_request: {
      Result<wire::InputRequest> request = wire::InputRequest::decode(message.payload);
      if (!request) return break_off(request.error());
      drain_pipes();
      return current_->add_input({std::move(request->prompt), request->password});
    }
    case wire::Type::package_request: {
      Result<wire::PackageRequest> request = wire::PackageRequest::decode(message.payload);
      if (!request) return break_off(request.error());
      drain_pipes();
      return journal_.wants(shared_from_this(), current_, std::move(request->packages));
    }
    case wire::Type::finished: {
      Result<wire::Finished> finished = wire::Finished::decode(message.payload);
      if (!finished) return break_off(finished.error());
      const Outcome outcome = outcome_of(finished->claim, current_->timed_out);
      const int code = outcome == Outcome::timeout ? 124 : finished->exit_code;
      return end_current(outcome, code, true);
    }
    default:
      // What was printed before a result or an error comes before it.
      if (message.type != wire::Type::note) drain_pipes();
      if (Status heard = hear(message, *current_); !heard) break_off(heard.error());
  }
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
  if (done->watched && !death) keeper_.post(wire::Unwatch{engine, done->number});
  if (outcome == Outcome::timeout && !done->stack.empty() && !done->record.error)
    done->add_error({"TimeoutError", "the execution was stopped at its time limit", done->stack});
  done->record.outcome = outcome;
  done->record.exit_code = exit_code;
  done->record.state_kept = state_kept;
  conclude_network(*done);
  for (std::string& note : screen.take_notes()) done->add_note(std::move(note));
  done->finish();
  journal_.ended(*done);
  touch();
  stack_told_.tell();
  if (!death && !replaying_) begin_next();
}

void Session::never_began(Execution& execution, const char* note) {
  journal_.begun(execution);
  execution.add_note(note);
  execution.finish();
  journal_.ended(execution);
}

void Session::break_off(const Error& why) {
  if (connection_) connection_->socket->stop();
  notes.push_back("the worker broke the protocol and was ended: " + why.message);
  keeper_.post(wire::Kill{engine});
}

void Session::interrupt(const Execution* execution) {
  auto waiting = std::ranges::find_if(
      queue_, [&](const auto& one) { return execution != nullptr && one.get() == execution; });
  if (waiting != queue_.end()) {
    std::shared_ptr<Execution> dropped = *waiting;
    queue_.erase(waiting);
    dropped->record.outcome = Outcome::interrupted;
    dropped->record.exit_code = 130;
    never_began(*dropped, "it was waiting and never began");
    return;
  }
  if (current_ && (execution == nullptr || current_.get() == execution))
    keeper_.post(wire::Interrupt{engine, current_->number});
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
  keeper_.post(wire::AskStack{engine, asked->number});
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
  death = how;
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
  disconnect();
}

}  // namespace vitrine::session
