// SPDX-License-Identifier: Apache-2.0
// Blocking calls on top of control/client.h and control/channel.h.
//
// Every wait has a deadline (`timed_out`). A wait can poll for a while before it sleeps; that pays
// only with a spare core, because the polling thread keeps the answering one off the processor.
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

struct WaitOptions {
  std::chrono::milliseconds most{30'000};
  std::chrono::microseconds spin{0};
};

// A ControlClient whose requests can be waited for. Answers and events for others are kept.
class BlockingClient {
 public:
  explicit BlockingClient(ControlClient client, WaitOptions wait = {})
      : client_(std::move(client)), wait_(wait) {}

  // The keeper's Error, if that is its answer.
  Result<Answer> call(const wire::Request& request);
  Result<std::uint32_t> start(const wire::Request& request) { return client_.send(request); }
  Result<Answer> finish(std::uint32_t number);

  Result<Channel> create(const wire::Create& request);
  Result<Channel> attach(std::uint64_t session);
  Result<Channel> reset(const wire::Reset& request);
  Status end(std::uint64_t session);
  Result<KeeperInfo> info();

  // Takes the oldest event that has come for this session.
  std::optional<wire::Event> take_event(std::uint64_t session);
  // Reads what has come, without waiting.
  Status pump();

  ControlClient& control() { return client_; }
  const WaitOptions& wait_options() const { return wait_; }

 private:
  Result<Channel> open(const wire::Request& request);

  ControlClient client_;
  WaitOptions wait_;
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
Result<Execution> run(BlockingClient& client, Channel& channel, std::uint64_t id,
                      const wire::Execute& request, const Bounds& bounds = {});

// Waits until one of the descriptors is readable, or until the deadline: false.
bool wait_readable(const std::vector<int>& fds, Clock::time_point until);

}  // namespace vitrine::bench::control
