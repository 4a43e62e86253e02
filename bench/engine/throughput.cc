// SPDX-License-Identifier: Apache-2.0
#include "engine/throughput.h"

#include <poll.h>

#include <array>
#include <optional>

namespace vitrine::bench {

using control::Clock;

Result<Rate> rate_of_raw_forks(RawFork& server, const Cell& cell, std::chrono::milliseconds time) {
  Rate rate;
  const auto start = Clock::now();
  const auto until = start + time;
  std::uint32_t running = 0;
  std::array<Clock::time_point, kConcurrent> begun;
  for (std::uint32_t id = 0; id < kConcurrent; ++id, ++running) {
    begun[id] = Clock::now();
    if (Status s = server.fork(id, cell.raw); !s) return std::move(s.error());
  }
  while (running > 0) {
    Result<RawReply> reply = server.receive();
    if (!reply) return std::move(reply.error());
    if (reply->kind != RawReply::Kind::reaped) continue;
    rate.each.push_back(milliseconds_since(begun[reply->id]));
    ++rate.count;
    begun[reply->id] = Clock::now();
    if (begun[reply->id] >= until) {
      --running;
      continue;
    }
    if (Status s = server.fork(reply->id, cell.raw); !s) return std::move(s.error());
  }
  rate.per_second = static_cast<double>(rate.count) / (milliseconds_since(start) / 1000);
  return rate;
}

namespace {

// Eight clients in one thread: each creates, runs, ends, and begins anew.
class Clients {
 public:
  Clients(KeeperProcess& keeper, const wire::Create& request, const Cell& cell)
      : control_(keeper.client().control()),
        request_(request),
        execute_{.code = cell.session, .stdin_bytes = {}, .environment = {}} {}

  Result<Rate> work(std::chrono::milliseconds time, std::uint64_t least) {
    const auto start = Clock::now();
    const auto until = start + time;
    for (Client& client : clients_)
      if (Status s = begin(client); !s) return std::move(s.error());
    while (running_ > 0) {
      if (!wait()) return Error{Code::timed_out, "the one-shots stopped coming"};
      if (Status s = read_keeper(until, least); !s) return std::move(s.error());
      for (Client& client : clients_)
        if (Status s = read_session(client); !s) return std::move(s.error());
    }
    rate_.per_second = static_cast<double>(rate_.count) / (milliseconds_since(start) / 1000);
    return std::move(rate_);
  }

 private:
  struct Client {
    std::uint32_t number = 0;  // of the request it waits for
    Clock::time_point begun{};
    std::optional<control::Channel> channel;
    bool ending = false;
  };

  Status begin(Client& client) {
    client.ending = false;
    client.begun = Clock::now();
    ++running_;
    return ask(client, request_);
  }

  Status ask(Client& client, const wire::Request& request) {
    Result<std::uint32_t> number = control_.send(request);
    if (!number) return std::move(number.error());
    client.number = *number;
    return ok();
  }

  bool wait() {
    std::array<pollfd, kConcurrent + 1> polled;
    std::size_t count = 0;
    polled[count++] = {.fd = control_.fd(), .events = POLLIN, .revents = 0};
    for (const Client& client : clients_)
      if (client.channel && !client.ending)
        polled[count++] = {.fd = client.channel->socket(), .events = POLLIN, .revents = 0};
    return ::poll(polled.data(), count, 30'000) > 0;
  }

  Status read_keeper(Clock::time_point until, std::uint64_t least) {
    for (;;) {
      Result<std::optional<control::FromKeeper>> got = control_.receive();
      if (!got) return std::move(got.error());
      if (!*got) return ok();
      auto* answer = std::get_if<control::Answer>(&**got);
      if (answer == nullptr) continue;  // a death that we asked for
      if (auto* error = std::get_if<Error>(&answer->reply)) return std::move(*error);
      for (Client& client : clients_) {
        if (client.number != answer->number) continue;
        if (answer->opened) {
          client.channel.emplace(std::move(*answer->opened));
          if (Status s = client.channel->execute(1, execute_); !s) return s;
          continue;
        }
        rate_.each.push_back(milliseconds_since(client.begun));
        ++rate_.count;
        --running_;
        client.channel.reset();
        if (Clock::now() < until || rate_.count + running_ < least)
          if (Status s = begin(client); !s) return s;
        break;
      }
    }
  }

  Status read_session(Client& client) {
    while (client.channel && !client.ending) {
      Result<std::optional<wire::Message>> message = client.channel->receive();
      if (!message) return std::move(message.error());
      if (!*message) return ok();
      if ((*message)->type != wire::Type::finished) continue;
      client.ending = true;
      return ask(client, wire::End{client.channel->session()});
    }
    return ok();
  }

  control::ControlClient& control_;
  wire::Create request_;
  wire::Execute execute_;
  std::array<Client, kConcurrent> clients_;
  std::uint32_t running_ = 0;
  Rate rate_;
};

}  // namespace

Result<Rate> rate_of_one_shots(KeeperProcess& keeper, const wire::Create& request, const Cell& cell,
                               std::chrono::milliseconds time, std::uint64_t least) {
  return Clients(keeper, request, cell).work(time, least);
}

}  // namespace vitrine::bench
