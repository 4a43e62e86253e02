// SPDX-License-Identifier: Apache-2.0
#include "engine/latency.h"

#include <optional>

namespace vitrine::bench {

using control::Clock;

const Cell kTrivial{"1+1", "_ = 1+1", "2"};
const Cell kNumpy{"import numpy as np\nint(np.arange(10).sum())",
                  "import numpy as np\n_ = int(np.arange(10).sum())", "45"};
const Cell kBare{"sum(range(10))", "_ = sum(range(10))", "45"};

namespace {

Status check(const std::string& got, const Cell& cell, const char* who) {
  if (got == cell.expected) return ok();
  return Error{Code::internal, std::string(who) + " answered '" + got + "', not " + cell.expected};
}

Status check_result(const std::vector<wire::Message>& messages, const Cell& cell) {
  Result<std::string> text = plain_result(messages);
  if (!text) return std::move(text.error());
  return check(*text, cell, "a session");
}

}  // namespace

Result<std::string> plain_result(const std::vector<wire::Message>& messages) {
  for (const wire::Message& message : messages) {
    if (message.type != wire::Type::result) continue;
    Result<wire::ResultBundle> bundle = wire::ResultBundle::decode(message.payload);
    if (!bundle) return std::move(bundle.error());
    for (const auto& [type, bytes] : bundle->data)
      if (type == "text/plain") return bytes;
  }
  return Error{Code::internal, "a session gave no result"};
}

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Result<RawTimes> time_raw_fork(RawFork& server, const Cell& cell) {
  RawTimes times;
  const auto start = Clock::now();
  if (Status s = server.fork(0, cell.raw); !s) return std::move(s.error());
  for (int replies = 0; replies < 2; ++replies) {
    Result<RawReply> reply = server.receive();
    if (!reply) return std::move(reply.error());
    const double now = milliseconds_since(start);
    if (reply->kind == RawReply::Kind::reaped) {
      times.cycle = now;
      continue;
    }
    times.result = now;
    if (Status s = check({reply->text, reply->size}, cell, "a raw fork"); !s)
      return std::move(s.error());
  }
  return times;
}

Result<BurstTimes> time_raw_burst(RawFork& server, const Cell& cell, std::uint32_t count) {
  BurstTimes times;
  const auto start = Clock::now();
  for (std::uint32_t id = 0; id < count; ++id)
    if (Status s = server.fork(id, cell.raw); !s) return std::move(s.error());
  for (std::uint32_t reaped = 0; reaped < count;) {
    Result<RawReply> reply = server.receive();
    if (!reply) return std::move(reply.error());
    if (reply->kind == RawReply::Kind::reaped) ++reaped;
    else times.each.push_back(milliseconds_since(start));
  }
  times.whole = times.each.empty() ? 0 : times.each.back();
  return times;
}

Result<CreateTimes> time_create(KeeperProcess& keeper, const wire::Create& request,
                                const Cell& cell) {
  control::BlockingClient& client = keeper.client();
  CreateTimes times;
  const auto start = Clock::now();
  Result<control::Channel> channel = client.create(request);
  if (!channel) return std::move(channel.error());
  times.opened = milliseconds_since(start);
  times.source = channel->source();
  Result<control::Execution> execution = control::run(
      client, *channel, 1, {.code = cell.session, .stdin_bytes = {}, .environment = {}});
  if (!execution) return std::move(execution.error());
  times.result = milliseconds_since(start);
  if (Status s = check_result(execution->messages, cell); !s) return std::move(s.error());
  const auto ending = Clock::now();
  if (Status s = client.end(channel->session()); !s) return std::move(s.error());
  times.ended = milliseconds_since(ending);
  return times;
}

Result<BurstTimes> time_burst(KeeperProcess& keeper, const wire::Create& request, const Cell& cell,
                              std::uint32_t count) {
  control::ControlClient& client = keeper.client().control();
  std::vector<control::Channel> channels;
  std::vector<bool> finished;
  BurstTimes times;
  const auto start = Clock::now();
  for (std::uint32_t i = 0; i < count; ++i)
    if (Result<std::uint32_t> sent = client.send(request); !sent) return std::move(sent.error());
  while (times.each.size() < count) {
    std::vector<int> waited{client.fd()};
    for (std::size_t i = 0; i < channels.size(); ++i)
      if (!finished[i]) waited.push_back(channels[i].socket());
    if (!control::wait_readable(waited, start + std::chrono::seconds(30)))
      return Error{Code::timed_out, "a burst did not come to its end"};
    for (;;) {
      Result<std::optional<control::FromKeeper>> got = client.receive();
      if (!got) return std::move(got.error());
      if (!*got) break;
      auto* answer = std::get_if<control::Answer>(&**got);
      if (answer == nullptr) return Error{Code::internal, "a session of a burst died"};
      if (!answer->opened) return std::get<Error>(answer->reply);
      channels.emplace_back(std::move(*answer->opened));
      finished.push_back(false);
      const wire::Execute execute{.code = cell.session, .stdin_bytes = {}, .environment = {}};
      if (Status s = channels.back().execute(1, execute); !s) return std::move(s.error());
    }
    for (std::size_t i = 0; i < channels.size(); ++i) {
      while (!finished[i]) {
        Result<std::optional<wire::Message>> message = channels[i].receive();
        if (!message) return std::move(message.error());
        if (!*message) break;
        if ((*message)->type != wire::Type::finished) continue;
        finished[i] = true;
        times.each.push_back(milliseconds_since(start));
      }
    }
  }
  times.whole = times.each.back();
  for (control::Channel& channel : channels)
    if (Status s = keeper.client().end(channel.session()); !s) return std::move(s.error());
  return times;
}

Result<std::vector<double>> time_executions(KeeperProcess& keeper, const Cell& cell, int count) {
  control::BlockingClient& client = keeper.client();
  Result<control::Channel> channel = client.create({.variant = Variant::loaded});
  if (!channel) return std::move(channel.error());
  std::vector<double> times;
  constexpr int kFirst = 5;
  const wire::Execute execute{.code = cell.session, .stdin_bytes = {}, .environment = {}};
  for (int i = 0; i < count + kFirst; ++i) {
    const auto start = Clock::now();
    Result<control::Execution> execution =
        control::run(client, *channel, static_cast<std::uint64_t>(i) + 1, execute);
    if (!execution) return std::move(execution.error());
    if (i >= kFirst) times.push_back(milliseconds_since(start));
    if (Status s = check_result(execution->messages, cell); !s) return std::move(s.error());
  }
  if (Status s = client.end(channel->session()); !s) return std::move(s.error());
  return times;
}

}  // namespace vitrine::bench
