// SPDX-License-Identifier: Apache-2.0
// The worker's end of the session socket. It sends and receives whole messages, and keeps those of the
// last execution, so that a new client can request them again.
//
// Threading: one thread receives; any thread may send, one message at a time.
#pragma once

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/frame.h"

namespace vitrine::zygote {

class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}

  // Waits for one datagram, with `open` as the signal mask. Returns a message once it is whole.
  // `timed_out` = a signal interrupted the wait; `unavailable` = the client is gone or broke the
  // protocol, for good. Requests to replay are answered here.
  Result<std::optional<wire::Message>> receive(const sigset_t& open);

  // Waits, at most `most`, until the client has taken its screenshot of this execution, or has sent
  // something else. False on timeout. Reads only messages of this execution.
  bool captured(std::uint64_t execution, std::chrono::milliseconds most);

  // Sends a message of the execution, and keeps it for a replay. Blocks while the client does not read.
  // A message of an execution that is over is dropped. `with_next`: a short message may be held back
  // and sent in one datagram with the next one; used near the end of an execution.
  enum class When : std::uint8_t { now, with_next };
  Status send(wire::Type type, std::uint64_t execution, std::string_view payload,
              When when = When::now);
  // Sends the messages that were held back.
  Status flush();
  Status send_ready();
  // Does not block and is not replayed; dropped if the socket is full.
  void send_line(std::uint64_t execution, std::uint32_t line);

 private:
  Status send_frame(const wire::Frame& frame);
  bool keep_waiting(const wire::Frame& frame);
  Status replay(std::uint64_t token);

  int socket_;
  std::mutex sending_;  // guards the members below, except the assembler
  wire::Assembler assembler_{wire::Assembler::Direction::from_client};
  bool broken_ = false;
  std::uint64_t captured_ = 0;  // the execution whose screenshot the client has
  std::uint64_t execution_ = 0;
  std::uint32_t sequence_ = 0;
  struct Sent {
    wire::Type type;
    std::uint8_t flags;
    std::string payload;
  };
  std::vector<Sent> sent_;  // frames of the last execution
  std::string waiting_;     // frames that were held back
  int frames_waiting_ = 0;
};

// The version in `ready` messages; call it once, in the zygote.
void set_python_version(std::string version);

}  // namespace vitrine::zygote
