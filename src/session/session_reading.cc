// SPDX-License-Identifier: Apache-2.0
// What a session reads from its worker: messages, output, and what its proxy decided.
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "backend/clock.h"
#include "session/execution_captures.h"
#include "session/rate_limiter.h"
#include "session/session.h"
#include "session/worker_connection.h"
#include "session/worker_messages.h"

namespace vitrine::session {

using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds kDeathNotice{300};
constexpr std::chrono::milliseconds kBetweenExecutions{50};
constexpr std::size_t kMaxBacklog = 256 * 1024;
constexpr int kFramesAtOnce = 64;  // then others have their turn
constexpr int kFramesPerPause = 16;
constexpr int kFramesFreely = 256;  // reads, before a pause is due after each
constexpr int kReadsFreely = 32;
// Ids that the client gives rise from 1; no worker has seen one like this.
constexpr std::uint64_t kAbsurdExecution = 1ull << 48;

}  // namespace

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
  RateLimiter rate(kFramesFreely);
  int most = kFramesAtOnce;
  while (!connection->over()) {
    if (!co_await connection->socket->readable()) co_return;
    if (!take_frames(*connection, most)) break;
    const bool tired = rate.over_limit(last_number_);
    most = tired ? kFramesPerPause : kFramesAtOnce;
    if (tired) co_await rest(RateLimiter::kPause);
  }
  // The worker closed its end. Usually it is dead, and the keeper is about to say why; if it lives on,
  // nothing it does can be believed any more.
  co_await rest(kDeathNotice);
  if (!connection->over() && !death_) keeper_.post(wire::Kill{keeper_id_});
}

Task<void> Session::read_network(std::shared_ptr<Connection> connection) {
  const auto decided = [this](const NetworkEntry& entry) { observer_.network_decided(id, entry); };
  while (!connection->over()) {
    if (!co_await connection->network->readable() || connection->over()) co_return;
    if (!connection->network->take(decided)) co_return;
  }
}

Task<void> Session::read_pipe(std::shared_ptr<Connection> connection, Stream stream) {
  OutputPipe& pipe = connection->pipe(stream);
  std::string buffer;
  RateLimiter rate(kReadsFreely);
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
    if (rate.over_limit(execution->number)) co_await pipe.look_away(RateLimiter::kPause);
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
    if (Status applied = apply_worker_message(message, *current_); !applied)
      return break_off(applied.error());
    if (message.type == wire::Type::stack) stack_told_.notify_all();
    return;
  }
  if (message.type == wire::Type::ready) {  // the answer to resume: it is idle
    Result<wire::Ready> ready = wire::Ready::decode(message.payload);
    if (!ready) return break_off(ready.error());
    if (!replaying_)
      return break_off(Error{Code::invalid_argument, "it sent ready without a request"});
    if (ready->last_execution >= kAbsurdExecution)
      return break_off(
          Error{Code::invalid_argument, "it executed something that was not requested"});
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
    return break_off(Error{Code::invalid_argument, "a message for an execution that does not run"});
  if (current_->ending) return;  // it has finished, and only its picture is missing
  switch (message.type) {
    case wire::Type::painted:
      // Once: what it says more often is no reason to send more often.
      if (std::exchange(current_->painted, true)) return;
      if (current_->captures && current_->captures->painted()) return;
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
      return package_questions_.ask({shared_from_this(), current_, std::move(request->packages)});
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
      if (Status applied = apply_worker_message(message, *current_); !applied)
        break_off(applied.error());
  }
}

}  // namespace vitrine::session
