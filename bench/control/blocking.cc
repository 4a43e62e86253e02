// SPDX-License-Identifier: Apache-2.0
#include "control/blocking.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace vitrine::bench::control {

namespace {

Error timed_out_error() { return Error{Code::timed_out, "no answer came in time"}; }

std::uint64_t session_of(const wire::Event& event) {
  return std::visit([](const auto& one) { return one.session; }, event);
}

// Polls without sleeping for WaitOptions::spin, then sleeps until a descriptor is readable.
class Waiter {
 public:
  explicit Waiter(const WaitOptions& wait)
      : spin_until_(Clock::now() + wait.spin), until_(Clock::now() + wait.most) {}

  // False once the time is up. `fds` is called only before it sleeps.
  template <class Fds>
  bool wait(const Fds& fds) {
    return spinning() || wait_readable(fds(), until_);
  }
  bool spinning() const { return Clock::now() < spin_until_; }

 private:
  Clock::time_point spin_until_;
  Clock::time_point until_;
};

void keep(Execution& execution, wire::Message message, std::size_t& room) {
  const std::size_t size = message.payload.size() + sizeof message;
  if (size > room) {
    execution.messages_dropped = true;
    return;
  }
  room -= size;
  execution.messages.push_back(std::move(message));
}

}  // namespace

bool wait_readable(const std::vector<int>& fds, Clock::time_point until) {
  std::vector<pollfd> polled;
  for (int fd : fds) polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int most = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
    const int ready = ::poll(polled.data(), polled.size(), most);
    if (ready > 0) return true;
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0 || left <= 0) return false;
  }
}

Status BlockingClient::pump() {
  for (;;) {
    Result<std::optional<FromKeeper>> got = client_.receive();
    if (!got) return std::move(got.error());
    if (!*got) return ok();
    if (auto* event = std::get_if<wire::Event>(&**got)) events_.push_back(std::move(*event));
    else answers_.push_back(std::move(std::get<Answer>(**got)));
  }
}

Result<Answer> BlockingClient::finish(std::uint32_t number) {
  Waiter waiter(wait_);
  for (;;) {
    if (Status s = pump(); !s) return std::move(s.error());
    auto found = std::ranges::find(answers_, number, &Answer::number);
    if (found != answers_.end()) {
      Answer answer = std::move(*found);
      answers_.erase(found);
      if (auto* error = std::get_if<Error>(&answer.reply)) return std::move(*error);
      return answer;
    }
    if (!waiter.wait([this] { return std::vector{client_.fd()}; })) return timed_out_error();
  }
}

Result<Answer> BlockingClient::call(const wire::Request& request) {
  Result<std::uint32_t> number = start(request);
  if (!number) return std::move(number.error());
  return finish(*number);
}

Result<Channel> BlockingClient::open(const wire::Request& request) {
  Result<Answer> answer = call(request);
  if (!answer) return std::move(answer.error());
  if (!answer->opened) return Error{Code::internal, "the keeper opened nothing"};
  return Channel(std::move(*answer->opened));
}

Result<Channel> BlockingClient::create(const wire::Create& request) { return open(request); }
Result<Channel> BlockingClient::reset(const wire::Reset& request) { return open(request); }

Result<Channel> BlockingClient::attach(std::uint64_t session) {
  Result<Channel> channel = open(wire::Attach{session});
  if (channel)
    if (Status s = channel->resume(); !s) return std::move(s.error());
  return channel;
}

Status BlockingClient::end(std::uint64_t session) {
  Result<Answer> answer = call(wire::End{session});
  if (!answer) return std::move(answer.error());
  return ok();
}

Result<KeeperInfo> BlockingClient::info() {
  Result<Answer> answer = call(wire::Info{});
  if (!answer) return std::move(answer.error());
  if (auto* info = std::get_if<KeeperInfo>(&answer->reply)) return std::move(*info);
  return Error{Code::internal, "the keeper did not tell"};
}

std::optional<wire::Event> BlockingClient::take_event(std::uint64_t session) {
  auto found = std::ranges::find(events_, session, session_of);
  if (found == events_.end()) return std::nullopt;
  wire::Event event = std::move(*found);
  events_.erase(found);
  return event;
}

namespace {

// Drives one execution; the parts that a caller with its own loop would do in callbacks.
class Run {
 public:
  Run(BlockingClient& client, Channel& channel, std::uint64_t id, const Bounds& bounds)
      : client_(client), channel_(channel), bounds_(bounds), room_(bounds.message_bytes) {
    execution_.id = id;
  }

  Result<Execution> to_the_end() {
    Waiter waiter(client_.wait_options());
    while (!execution_.finished && !execution_.death) {
      if (Status s = channel_.flush(); !s && s.error().code != Code::unavailable)
        return std::move(s.error());
      if (Status s = read_messages(); !s) return std::move(s.error());
      if (execution_.finished) break;
      if (waiter.spinning()) continue;
      if (Status s = drain(); !s) return std::move(s.error());
      if (Status s = read_events(); !s) return std::move(s.error());
      if (execution_.death) break;
      if (!waiter.wait([this] { return waited(); })) return timed_out_error();
    }
    if (Status s = drain(); !s) return std::move(s.error());
    return std::move(execution_);
  }

 private:
  Status read_messages() {
    while (!gone_ && !execution_.finished) {
      Result<std::optional<wire::Message>> message = channel_.receive();
      if (!message && message.error().code == Code::unavailable) {
        gone_ = true;  // the keeper will say why
        return ok();
      }
      if (!message) return std::move(message.error());
      if (!*message) return ok();
      if (Status s = take(std::move(**message)); !s) return s;
    }
    return ok();
  }

  Status take(wire::Message message) {
    if (message.execution != execution_.id) return ok();  // late words of an earlier one
    if (message.type == wire::Type::finished) {
      Result<wire::Finished> finished = wire::Finished::decode(message.payload);
      if (!finished) return std::move(finished.error());
      execution_.finished = *finished;
      return ok();
    }
    const bool asks = message.type == wire::Type::input_request;
    keep(execution_, std::move(message), room_);
    return asks ? channel_.input(execution_.id, {.end_of_file = true, .bytes = {}}) : ok();
  }

  Status read_events() {
    if (Status s = client_.pump(); !s) return s;
    while (std::optional<wire::Event> event = client_.take_event(channel_.session())) {
      if (const auto* died = std::get_if<wire::Died>(&*event)) execution_.death = died->death;
      if (const auto* late = std::get_if<wire::TimedOut>(&*event))
        execution_.timed_out = execution_.timed_out || late->execution == execution_.id;
    }
    return ok();
  }

  Status drain() {
    Result<bool> out = channel_.drain(Stream::out, execution_.out, bounds_.output_bytes);
    if (!out) return std::move(out.error());
    Result<bool> err = channel_.drain(Stream::err, execution_.err, bounds_.output_bytes);
    if (!err) return std::move(err.error());
    return ok();
  }

  // Not what would be "readable" for ever because its other end is gone.
  std::vector<int> waited() const {
    std::vector<int> fds{client_.control().fd()};
    if (!gone_) fds.push_back(channel_.socket());
    for (Stream stream : {Stream::out, Stream::err})
      if (!gone_ && !channel_.ended(stream)) fds.push_back(channel_.pipe(stream));
    return fds;
  }

  BlockingClient& client_;
  Channel& channel_;
  const Bounds& bounds_;
  std::size_t room_;
  bool gone_ = false;
  Execution execution_;
};

}  // namespace

Result<Execution> run(BlockingClient& client, Channel& channel, std::uint64_t id,
                      const wire::Execute& request, const Bounds& bounds) {
  const bool watched = bounds.time.count() > 0;
  // If the worker is gone already, the keeper knows why.
  if (Status s = channel.execute(id, request); !s && s.error().code != Code::unavailable)
    return std::move(s.error());
  if (watched) {
    const auto most = static_cast<std::uint64_t>(bounds.time.count());
    if (Status s = client.control().post(wire::Watch{channel.session(), id, most}); !s)
      return std::move(s.error());
  }
  Result<Execution> execution = Run(client, channel, id, bounds).to_the_end();
  if (watched && execution && !execution->death)
    if (Status s = client.control().post(wire::Unwatch{channel.session(), id}); !s)
      return std::move(s.error());
  return execution;
}

}  // namespace vitrine::bench::control
