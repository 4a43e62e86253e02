// SPDX-License-Identifier: Apache-2.0
// Waiting for what control/client.h and control/channel.h deliver, for callers that have a thread to
// spend: benchmarks, tools, tests.
//
// Waits are bounded by a deadline (`timed_out`). They can look for a while before they sleep; that
// pays only with a core to spare, since the one that looks keeps the one that answers waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "control/channel.h"
#include "control/client.h"

namespace vitrine::bench::control {

using Clock = std::chrono::steady_clock;

struct Patience {
  std::chrono::milliseconds most{30'000};
  std::chrono::microseconds spin{0};
};

// An Engine one can ask and wait for. What arrives meanwhile for others is kept.
class Caller {
 public:
  explicit Caller(Engine engine, Patience patience = {})
      : engine_(std::move(engine)), patience_(patience) {}

  // The keeper's Error, if that is its answer.
  Result<Answer> call(const wire::Request& request);
  Result<std::uint32_t> start(const wire::Request& request) { return engine_.send(request); }
  Result<Answer> finish(std::uint32_t number);

  Result<Channel> create(const wire::Create& request);
  Result<Channel> attach(std::uint64_t session);
  Result<Channel> reset(const wire::Reset& request);
  Status end(std::uint64_t session);
  Result<std::string> info();

  // Takes the oldest event that has come for this session.
  std::optional<wire::Event> take_event(std::uint64_t session);
  // Reads what has come, without waiting.
  Status pump();

  Engine& engine() { return engine_; }
  const Patience& patience() const { return patience_; }

 private:
  Result<Channel> open(const wire::Request& request);

  Engine engine_;
  Patience patience_;
  std::deque<Answer> answers_;
  std::deque<wire::Event> events_;
};

// What an execution came to: exactly one of `finished` and `death`. `death` and `timed_out` are the
// keeper's word, the rest is the worker's.
struct Execution {
  std::uint64_t id = 0;
  std::vector<wire::Message> messages;  // in order, without the finished one
  bool messages_dropped = false;        // beyond Bounds::message_bytes
  Captured out;
  Captured err;
  std::optional<wire::Finished> finished;
  std::optional<Death> death;
  bool timed_out = false;
};

struct Bounds {
  std::size_t output_bytes = 1 << 20;   // of each stream
  std::size_t message_bytes = 8 << 20;  // of all messages together
  std::chrono::milliseconds time{0};    // watched by the keeper; 0 = not watched
};

// Runs one execution to its end. Asks for input are answered with end of file.
Result<Execution> run(Caller& caller, Channel& channel, std::uint64_t id,
                      const wire::Execute& request, const Bounds& bounds = {});

// Waits until one of the descriptors is readable, or until the deadline: false.
bool wait_readable(const std::vector<int>& fds, Clock::time_point until);

}  // namespace vitrine::bench::control
