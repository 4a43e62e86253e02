// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>

#include "session/network_log.h"
#include "session/output_pipe.h"
#include "session/pace.h"

namespace vitrine::session {

using boost::system::error_code;
using Descriptor = asio::posix::stream_descriptor;

namespace {

// An execution that lasts is put under the keeper's watch; most are over long before.
constexpr std::chrono::milliseconds kUnwatched{20};
constexpr std::chrono::milliseconds kStackTime{1000};
constexpr std::chrono::milliseconds kDeathNotice{300};
constexpr std::chrono::milliseconds kBetweenExecutions{50};
// How often a worker tells the line that runs, and how long that is believed.
constexpr std::chrono::milliseconds kTellLine{10};
constexpr std::chrono::milliseconds kLineHolds{50};
constexpr std::size_t kMaxBacklog = 256 * 1024;
constexpr std::size_t kReadSize = 64 * 1024;
constexpr int kFramesAtOnce = 64;  // then others have their turn
constexpr int kFramesPerBreath = 16;
constexpr int kFramesFreely = 256;  // looks, before a breath is due after each
constexpr int kReadsFreely = 32;
constexpr int kFramesOfTheDead =
    4096;  // more than a socket holds, unless somebody goes on filling it
// Ids that the client gives rise from 1; no worker has seen one like this.
constexpr std::uint64_t kAbsurdExecution = 1ull << 48;
constexpr int kNetworkAtOnce = 64;
constexpr int kNetworkAtTheEnd = 1024;  // more than the line holds

Outcome outcome_of(wire::Claim claim, bool timed_out) {
  // Also when the code caught what was to stop it: it had its time, and more.
  if (timed_out) return Outcome::timeout;
  switch (claim) {
    case wire::Claim::ok: return Outcome::ok;
    case wire::Claim::exception: return Outcome::exception;
    case wire::Claim::policy: return Outcome::policy;
    case wire::Claim::interrupted: return Outcome::interrupted;
  }
  return Outcome::exception;
}

// From a file of cgroup v2 ("usage_usec 123" in one of its lines) or v1 (nanoseconds).
std::uint64_t read_cpu_us(int file) {
  std::array<char, 512> text{};
  const ssize_t got = ::pread(file, text.data(), text.size() - 1, 0);
  if (got <= 0) return 0;
  const std::string_view all(text.data(), static_cast<std::size_t>(got));
  constexpr std::string_view kKey = "usage_usec ";
  const std::size_t at = all.find(kKey);
  std::uint64_t value = 0;
  const char* from = all.data() + (at == std::string_view::npos ? 0 : at + kKey.size());
  std::from_chars(from, all.data() + all.size(), value);
  return at == std::string_view::npos ? value / 1000 : value;
}

std::uint64_t read_peak_kb(int file) {
  std::array<char, 32> text{};
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  std::uint64_t value = 0;
  if (got > 0) std::from_chars(text.data(), text.data() + got, value);
  return value / 1024;
}

}  // namespace

struct Session::Connection {
  Connection(asio::any_io_executor executor, Lines lines)
      : socket(executor, lines.socket.release()),
        out(executor, std::move(lines.out)),
        err(executor, std::move(lines.err)),
        cpu(std::move(lines.cpu)),
        peak(std::move(lines.peak)),
        counters(std::move(lines.counters)) {
    if (lines.network) network.emplace(executor, lines.network.release());
  }

  Descriptor socket;
  OutputPipe out;
  OutputPipe err;
  Fd cpu;
  Fd peak;
  std::optional<Descriptor> network;
  Fd counters;
  NetworkLog network_log;
  wire::Assembler assembler{wire::Assembler::Direction::from_worker};
  std::deque<std::string> unsent;
  bool flushing = false;
  bool over = false;
};

Session::Session(asio::any_io_executor executor, backend::KeeperLink& keeper, Journal journal,
                 std::shared_ptr<display::Studio> studio, std::string name, SessionSpec wanted)
    : screen(executor, keeper),
      id(std::move(name)),
      spec(std::move(wanted)),
      executor_(executor),
      keeper_(keeper),
      journal_(std::move(journal)),
      studio_(std::move(studio)),
      watch_timer_(executor),
      stack_told_(executor) {}

void Session::connect(std::uint64_t number, Lines lines, Line line) {
  disconnect();
  engine = number;
  death.reset();
  connection_ = std::make_shared<Connection>(executor_, std::move(lines));
  connection_->socket.non_blocking(true);
  if (connection_->network) connection_->network->non_blocking(true);
  replaying_ = line == Line::adopted;
  replayed_ = 0;
  if (line == Line::adopted) {
    connection_->assembler.adopt();
    send_message(wire::Type::resume, 0, "");
  } else {
    last_number_ = 0;
    wire::Setup setup{.environment = environment(), .seed = spec.seed, .policy = spec.policy};
    if (spec.policy != Policy::native)  // names of something else are of no use to a policy
      for (const std::string& name : spec.imports)
        if (wire::is_module_name(name) && setup.imports.size() < wire::kMaxImports)
          setup.imports.push_back(name);
    if (spec.layer_first) setup.environment["VITRINE_PACKAGES"] = "first";
    if (!setup.environment.empty() || spec.seed || spec.policy != Policy::native)
      send_message(wire::Type::setup, 0, setup.encode());
  }
  auto self = shared_from_this();
  const auto spawn = [&](Task<void> task) {
    asio::co_spawn(executor_, std::move(task), asio::detached);
  };
  spawn([](auto me, auto to) -> Task<void> { co_await me->read_frames(to); }(self, connection_));
  for (Stream stream : {Stream::out, Stream::err})
    spawn([](auto me, auto to, Stream which) -> Task<void> { co_await me->read_pipe(to, which); }(
                                                 self, connection_, stream));
  if (connection_->network)
    spawn([](auto me, auto to) -> Task<void> { co_await me->read_network(to); }(self, connection_));
}

// Stock HTTP clients find the proxy by these; what the client set itself stands.
std::map<std::string, std::string> Session::environment() const {
  std::map<std::string, std::string> all = spec.env;
  if (!spec.network) return all;
  const std::string proxy = "http://127.0.0.1:" + std::to_string(kProxyPort);
  for (const char* name :
       {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"})
    all.emplace(name, proxy);
  for (const char* name : {"NO_PROXY", "no_proxy"}) all.emplace(name, "localhost,127.0.0.1,::1");
  return all;
}

void Session::disconnect() {
  if (!connection_) return;
  connection_->over = true;
  error_code ignored;
  connection_->socket.close(ignored);
  connection_->out.close();
  connection_->err.close();
  if (connection_->network) connection_->network->close(ignored);
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
  current_->started = std::chrono::steady_clock::now();
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
  return execution;
}

void Session::begin_next() {
  if (queue_.empty() || !connection_) return;
  current_ = std::move(queue_.front());
  queue_.pop_front();
  current_->number = ++last_number_;
  current_->started = std::chrono::steady_clock::now();
  if (connection_->cpu) current_->cpu_before_us = read_cpu_us(connection_->cpu.get());
  const ExecRequest& request = current_->request;
  wire::Execute message{.code = request.code,
                        .stdin_mode = wire::Stdin::none,
                        .stdin_bytes = request.stdin_text.value_or(""),
                        .environment = request.env,
                        .result_limit = spec.limits.output_bytes,
                        .render_ms = 0};
  if (request.capture_screenshot)
    message.render_ms = static_cast<std::uint32_t>(
        std::max(request.render_timeout, std::chrono::milliseconds(1)).count());
  if (request.strip) message.line_ms = kTellLine.count();
  if (request.stdin_text) message.stdin_mode = wire::Stdin::given;
  else if (request.interactive) message.stdin_mode = wire::Stdin::interactive;
  // First, or a front that dies between the two leaves code running of which the next one knows nothing:
  // without a record, and without a deadline.
  journal_.begun(*current_);
  send_message(wire::Type::execute, current_->number, message.encode());
  arm_watch();
  if (request.capture_screenshot) begin_capture();
  if (request.strip) begin_strip();
}

void Session::begin_capture() {
  const std::uint64_t number = current_->number;
  // The capture lives no longer than its coroutine, which holds the session.
  CaptureHooks hooks{
      .cpu_us =
          [this] {
            return connection_ && connection_->cpu ? read_cpu_us(connection_->cpu.get()) : 0;
          },
      .end_loop =
          [this, number](wire::Screen seen) {
            keeper_.post(wire::EndLoop{engine, number, seen});
          },
      .captured =
          [this, number] {
            if (connection_ && current_ && current_->number == number && !death)
              send_message(wire::Type::captured, number, "");
          }};
  current_->capture = std::make_shared<Capture>(executor_, screen, studio_, engine, spec.display,
                                                current_->request, std::move(hooks));
  asio::co_spawn(
      executor_,
      [](auto self, auto execution) -> Task<void> { co_await self->take_picture(execution); }(
                                        shared_from_this(), current_),
      asio::detached);
}

void Session::begin_strip() {
  // As the capture; it adds to an execution that it must not keep alive.
  std::weak_ptr<Execution> target = current_;
  const auto written = [target] {
    const auto execution = target.lock();
    return execution ? execution->written() : 0;
  };
  const auto line = [target]() -> std::optional<std::uint32_t> {
    const auto execution = target.lock();
    if (!execution || execution->ending || execution->line == 0) return std::nullopt;
    if (std::chrono::steady_clock::now() - execution->line_at > kLineHolds) return std::nullopt;
    return execution->line;
  };
  const auto add = [target](StripFrame frame) {
    if (auto execution = target.lock()) execution->add_frame(std::move(frame));
  };
  current_->strip = std::make_shared<Filmstrip>(
      executor_, screen, studio_, engine, *current_->request.strip, StripHooks{written, line, add});
  asio::co_spawn(
      executor_,
      [](auto self, auto execution) -> Task<void> { co_await self->take_strip(execution); }(
                                        shared_from_this(), current_),
      asio::detached);
}

Task<void> Session::take_strip(std::shared_ptr<Execution> execution) {
  std::shared_ptr<Filmstrip> strip = execution->strip;
  co_await strip->run();
  execution->strip.reset();
  if (execution->record.frames.empty())
    execution->add_note("no pictures were taken on the way: nothing was shown on the screen");
  if (!execution->ending || current_ != execution || execution->capture) co_return;
  const Execution::Ending ending = *execution->ending;
  conclude(ending.outcome, ending.exit_code, ending.state_kept);
}

Task<void> Session::take_picture(std::shared_ptr<Execution> execution) {
  std::shared_ptr<Capture> capture = execution->capture;
  co_await capture->run();
  execution->capture.reset();
  Pictured told{.session = id,
                .execution = execution->record.id,
                .result = capture->result,
                .latency = capture->latency};
  if (!capture->png && !capture->notes.empty()) told.why = capture->notes.back();
  for (std::string& note : capture->notes) execution->add_note(std::move(note));
  execution->add_screenshot(std::move(capture->png));
  journal_.pictured(told);
  if (!execution->ending || current_ != execution || execution->strip) co_return;
  const Execution::Ending ending = *execution->ending;
  conclude(ending.outcome, ending.exit_code, ending.state_kept);
}

void Session::end_current(Outcome outcome, int exit_code, bool state_kept) {
  if (!current_->capture && !current_->strip) return conclude(outcome, exit_code, state_kept);
  // Its time is not running any more.
  watch_timer_.cancel();
  if (std::exchange(current_->watched, false) && !death)
    keeper_.post(wire::Unwatch{engine, current_->number});
  if (!current_->ending) {
    measure(*current_);
    current_->ending = Execution::Ending{outcome, exit_code, state_kept};
  }
  if (current_->strip) current_->strip->ended();
  if (current_->capture)
    current_->capture->ended(state_kept ? Capture::Worker::alive : Capture::Worker::dead);
}

void Session::display_started() {
  screen.started();
  if (current_ && current_->capture) current_->capture->display_changed();
  if (current_ && current_->strip) current_->strip->display_changed();
}

void Session::display_died(const std::string& detail) {
  screen.died(detail);
  if (current_ && current_->capture) current_->capture->display_changed();
  if (current_ && current_->strip) current_->strip->display_changed();
}

void Session::arm_watch() {
  const std::uint64_t number = current_->number;
  const auto limit = current_->request.timeout.value_or(spec.limits.exec_time);
  watch_timer_.expires_after(std::min(kUnwatched, limit));
  watch_timer_.async_wait([self = shared_from_this(), number, limit](error_code cancelled) {
    if (cancelled || !self->current_ || self->current_->number != number) return;
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - self->current_->started);
    const auto left = std::max(limit - spent, std::chrono::milliseconds(1));
    self->current_->watched = true;
    self->keeper_.post(wire::Watch{self->engine, number, static_cast<std::uint64_t>(left.count())});
  });
}

void Session::send_message(wire::Type type, std::uint64_t number, std::string_view payload) {
  std::uint32_t sequence = 0;
  std::size_t done = 0;
  do {
    const std::string_view part = payload.substr(done, wire::kMaxPayload);
    const bool last = done + part.size() == payload.size();
    const auto flags =
        static_cast<std::uint8_t>((last ? 0 : wire::kMore) | (done == 0 ? 0 : wire::kRest));
    connection_->unsent.push_back(wire::encode_frame({type, flags, number, sequence++, part}));
    done += part.size();
  } while (done < payload.size());
  if (!connection_->flushing) {
    // The usual case goes out at once.
    while (!connection_->unsent.empty() && send_packet(connection_->socket.native_handle(),
                                                       connection_->unsent.front(), {}, Wait::dont))
      connection_->unsent.pop_front();
    if (connection_->unsent.empty()) return;
    connection_->flushing = true;
    asio::co_spawn(
        executor_,
        [](auto me, auto to) -> Task<void> { co_await me->flush(to); }(shared_from_this(),
                                                                       connection_),
        asio::detached);
  }
}

Task<void> Session::flush(std::shared_ptr<Connection> connection) {
  while (!connection->over && !connection->unsent.empty()) {
    error_code failed;
    co_await connection->socket.async_wait(Descriptor::wait_write,
                                           asio::redirect_error(asio::use_awaitable, failed));
    if (failed || connection->over) co_return;
    Status sent =
        send_packet(connection->socket.native_handle(), connection->unsent.front(), {}, Wait::dont);
    if (sent) connection->unsent.pop_front();
    else if (sent.error().code != Code::over_limit)
      co_return;  // the keeper will say why it is gone
  }
  connection->flushing = false;
}

// Takes the frames that are there, so many at most. False at the end of the stream or after a breach.
bool Session::take_frames(Connection& connection, int most) {
  static std::array<char, wire::kMaxFrame> datagram;  // taking a frame never comes back here
  while (most > 0) {
    iovec space{.iov_base = datagram.data(), .iov_len = datagram.size()};
    msghdr header{};  // no room for descriptors: the kernel drops them, and says so
    header.msg_iov = &space;
    header.msg_iovlen = 1;
    const ssize_t got = ::recvmsg(connection.socket.native_handle(), &header,
                                  MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    if ((header.msg_flags & MSG_CTRUNC) != 0) {
      break_off(Error{Code::invalid_argument, "it sent descriptors"});
      return false;
    }
    if (static_cast<std::size_t>(got) > datagram.size()) {
      break_off(Error{Code::over_limit, "a frame is too big"});
      return false;
    }
    wire::Together frames({datagram.data(), static_cast<std::size_t>(got)});
    for (; frames.any(); --most)
      if (!take_frame(connection, frames.next())) return false;
  }
  return true;
}

bool Session::take_frame(Connection& connection, const Result<wire::Frame>& frame) {
  Result<std::optional<wire::Message>> message =
      frame ? connection.assembler.add(*frame) : frame.error();
  if (!message) {
    break_off(message.error());
    return false;
  }
  if (*message) take(**message);
  return !connection.over;
}

Task<void> Session::rest(std::chrono::milliseconds time) {
  asio::steady_timer pause(executor_, time);
  error_code ignored;
  co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

Task<void> Session::read_frames(std::shared_ptr<Connection> connection) {
  Pace pace(kFramesFreely);
  int most = kFramesAtOnce;
  while (!connection->over) {
    error_code failed;
    co_await connection->socket.async_wait(Descriptor::wait_read,
                                           asio::redirect_error(asio::use_awaitable, failed));
    if (failed || connection->over) co_return;
    if (!take_frames(*connection, most)) break;
    const bool tired = pace.tires(last_number_);
    most = tired ? kFramesPerBreath : kFramesAtOnce;
    if (tired) co_await rest(Pace::kBreath);
  }
  // The worker closed its end. Usually it is dead, and the keeper is about to say why; if it lives on,
  // nothing it does can be believed any more.
  co_await rest(kDeathNotice);
  if (!connection->over && !death) keeper_.post(wire::Kill{engine});
}

// Takes what the proxy told, so many messages at most. False when nothing more can come.
bool Session::take_network(Connection& connection, int most) {
  std::array<char, wire::kMaxEgressMessage> packet;
  for (; most > 0; --most) {
    const ssize_t got = ::recv(connection.network->native_handle(), packet.data(), packet.size(),
                               MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    const auto size = static_cast<std::size_t>(got);
    if (size > packet.size()) return false;
    Result<wire::EgressMessage> message = wire::decode_egress({packet.data(), size});
    if (!message) return false;  // nothing it says is believed any more
    connection.network_log.add(*message);
    if (const auto* decided = std::get_if<wire::Decided>(&*message))
      journal_.decided(id, decided->entry);
  }
  return true;
}

Task<void> Session::read_network(std::shared_ptr<Connection> connection) {
  while (!connection->over) {
    error_code failed;
    co_await connection->network->async_wait(Descriptor::wait_read,
                                             asio::redirect_error(asio::use_awaitable, failed));
    if (failed || connection->over) co_return;
    if (!take_network(*connection, kNetworkAtOnce)) co_return;
  }
}

// The proxy tells and counts before it hands on, so what this execution saw of the network is here.
void Session::conclude_network(Execution& done) {
  if (!spec.network) return;
  done.record.network.emplace();
  if (!connection_ || !connection_->network) return;
  (void)take_network(*connection_, kNetworkAtTheEnd);
  std::array<wire::EgressCounter, wire::kEgressCounters> counters{};
  if (::pread(connection_->counters.get(), counters.data(), sizeof counters, 0) ==
      static_cast<ssize_t>(sizeof counters))
    connection_->network_log.count(counters);
  NetworkLog::Report report = connection_->network_log.take();
  done.record.network = std::move(report.entries);
  done.record.network_omitted = report.omitted;
  for (std::string& note : report.notes) done.add_note(std::move(note));
}

Task<void> Session::read_pipe(std::shared_ptr<Connection> connection, Stream stream) {
  OutputPipe& pipe = stream == Stream::out ? connection->out : connection->err;
  std::string buffer;
  Pace pace(kReadsFreely);
  while (!connection->over) {
    if (!co_await pipe.readable()) co_return;
    if (!current_) {
      // Nothing runs: what comes now belongs to the next execution, and stays in the pipe for it.
      co_await pipe.look_away(kBetweenExecutions);
      continue;
    }
    std::shared_ptr<Execution> execution = current_;
    co_await execution->caught_up(kMaxBacklog);
    if (connection->over || execution != current_) continue;
    buffer.resize(kReadSize);
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) co_return;
    execution->add_output(stream, std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    if (pace.tires(execution->number)) co_await pipe.look_away(Pace::kBreath);
  }
}

void Session::drain_pipes() {
  // Only what is there now: a child that floods for ever must not hold up the end.
  if (!connection_ || !current_) return;
  for (Stream stream : {Stream::out, Stream::err}) {
    const int pipe = (stream == Stream::out ? connection_->out : connection_->err).get();
    int left = 0;
    if (::ioctl(pipe, FIONREAD, &left) != 0) continue;
    std::string buffer(kReadSize, '\0');
    while (left > 0) {
      const ssize_t got =
          ::read(pipe, buffer.data(), std::min(buffer.size(), static_cast<std::size_t>(left)));
      if (got <= 0) break;
      current_->add_output(stream, std::string_view(buffer.data(), static_cast<std::size_t>(got)));
      left -= static_cast<int>(got);
    }
  }
}

void Session::take(const wire::Message& message) {
  if (message.type == wire::Type::stack) {
    std::string text = wire::is_utf8(message.payload) ? message.payload : "";
    if (!current_ || message.execution != current_->number) return;
    current_->stack = std::move(text);
    ++current_->stacks;
    stack_told_.tell();
    return;
  }
  if (message.type == wire::Type::line) {
    Result<wire::Line> line = wire::Line::decode(message.payload);
    if (!line) return break_off(line.error());
    if (!current_ || message.execution != current_->number) return;
    current_->line = line->number;
    current_->line_at = std::chrono::steady_clock::now();
    return;
  }
  if (message.type == wire::Type::ready) {  // the answer to resume: it is idle
    Result<wire::Ready> ready = wire::Ready::decode(message.payload);
    if (!ready) return break_off(ready.error());
    if (!replaying_) return break_off(Error{Code::invalid_argument, "it says ready unasked"});
    if (ready->last_execution >= kAbsurdExecution)
      return break_off(Error{Code::invalid_argument, "an execution that nobody asked for"});
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
  const bool on = current_ && message.execution == current_->number;
  const bool old = message.execution == replayed_ || message.execution == last_number_;
  if (replaying_ || (old && !on)) return;
  if (!on)
    return break_off(Error{Code::invalid_argument, "a message for an execution that is not on"});
  if (current_->ending) return;  // it has finished, and only its picture is missing
  switch (message.type) {
    case wire::Type::result: {
      Result<wire::ResultBundle> bundle = wire::ResultBundle::decode(message.payload);
      if (!bundle) return break_off(bundle.error());
      drain_pipes();  // what was printed before it comes before it
      return current_->add_result({.kind = bundle->kind,
                                   .display_id = std::move(bundle->display_id),
                                   .data = std::move(bundle->data),
                                   .metadata = std::move(bundle->metadata)});
    }
    case wire::Type::error: {
      Result<wire::ErrorReport> report = wire::ErrorReport::decode(message.payload);
      if (!report) return break_off(report.error());
      if (current_->record.error)
        return break_off(Error{Code::invalid_argument, "a second error of one execution"});
      drain_pipes();
      return current_->add_error({.name = std::move(report->name),
                                  .value = std::move(report->value),
                                  .traceback = std::move(report->traceback)});
    }
    case wire::Type::note:
      if (!wire::is_utf8(message.payload))
        return break_off(Error{Code::invalid_argument, "a note is no text"});
      if (++current_->notes_told > wire::kMaxNotes) return;
      return current_->add_note(message.payload);
    case wire::Type::painted:
      // Once: what it says more often is no reason to send more often.
      if (std::exchange(current_->painted, true)) return;
      if (current_->capture) return current_->capture->painted();
      return send_message(wire::Type::captured, current_->number, "");
    case wire::Type::input_request: {
      Result<wire::InputRequest> request = wire::InputRequest::decode(message.payload);
      if (!request) return break_off(request.error());
      drain_pipes();
      if (request->prompt.starts_with(kPackageQuestion))
        return journal_.wants(shared_from_this(), current_,
                              request->prompt.substr(kPackageQuestion.size()));
      return current_->add_input({std::move(request->prompt), request->password});
    }
    case wire::Type::finished: {
      Result<wire::Finished> finished = wire::Finished::decode(message.payload);
      if (!finished) return break_off(finished.error());
      const Outcome outcome = outcome_of(finished->claim, current_->timed_out);
      const int code = outcome == Outcome::timeout ? 124 : finished->exit_code;
      return end_current(outcome, code, true);
    }
    default: return break_off(Error{Code::invalid_argument, "a message that makes no sense"});
  }
}

void Session::measure(Execution& done) {
  drain_pipes();
  done.record.usage.wall_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - done.started)
          .count();
  if (connection_ && connection_->cpu) {
    const std::uint64_t now = read_cpu_us(connection_->cpu.get());
    done.record.usage.cpu_ms =
        now > done.cpu_before_us ? static_cast<double>(now - done.cpu_before_us) / 1000 : 0;
  }
  if (connection_ && connection_->peak)
    done.record.usage.peak_memory_kb = read_peak_kb(connection_->peak.get());
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
  if (connection_) connection_->over = true;
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
  send_message(wire::Type::input, execution.number, input.encode());
}

Task<std::optional<std::string>> Session::stack() {
  const std::shared_ptr<Execution> asked = current_;
  if (!asked) co_return "";
  const std::uint64_t before = asked->stacks;
  keeper_.post(wire::AskStack{engine, asked->number});
  const auto latest = std::chrono::steady_clock::now() + kStackTime;
  while (asked->stacks == before && asked == current_ && std::chrono::steady_clock::now() < latest)
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
  if (connection_ && !connection_->over) take_frames(*connection_, kFramesOfTheDead);
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
