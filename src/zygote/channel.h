// SPDX-License-Identifier: Apache-2.0
// The worker's end of the session socket: whole messages in and out, and the memory of what was sent
// for the last execution, so that a new client can ask for it again.
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

  // One datagram, then: a whole message, nothing yet, or why it is over. `timed_out` = a signal
  // interrupted the wait, `unavailable` = the client is gone or breaks the protocol, for good. Requests to replay are answered here.
  // `open` is the signal mask while it waits.
  Result<std::optional<wire::Message>> receive(const sigset_t& open);

  // Whether the client has its picture of this execution, or went on to something else; waits for it, so
  // long at most. Takes from the socket only what belongs to the execution.
  bool captured(std::uint64_t execution, std::chrono::milliseconds most);

  // Sends a message of the execution in as many frames as it needs, and remembers it. Blocks while
  // the client does not read. What a thread says of an execution that is over is dropped.
  // `with_next`: the end of the execution is near; a short message may wait for what is sent next,
  // and both leave as one datagram.
  enum class When : std::uint8_t { now, with_next };
  Status send(wire::Type type, std::uint64_t execution, std::string_view payload,
              When when = When::now);
  // What waits leaves now.
  Status flush();
  Status send_ready();
  // Without waiting, and not remembered: where the socket is full, nobody misses it.
  void send_line(std::uint64_t execution, std::uint32_t line);

 private:
  Status send_frame(const wire::Frame& frame);
  bool keep_waiting(const wire::Frame& frame);
  Status replay(std::uint64_t token);

  int socket_;
  std::mutex sending_;  // guards what follows but the assembler
  wire::Assembler assembler_{wire::Assembler::Direction::from_client};
  bool broken_ = false;
  std::uint64_t captured_ = 0;  // the execution whose picture the client has
  std::uint64_t execution_ = 0;
  std::uint32_t sequence_ = 0;
  struct Sent {
    wire::Type type;
    std::uint8_t flags;
    std::string payload;
  };
  std::vector<Sent> sent_;  // frames of the last execution
  std::string waiting_;     // those of them that leave with the next
  int frames_waiting_ = 0;
};

// What `ready` messages say; called once in the zygote.
void set_python_version(std::string version);

}  // namespace vitrine::zygote
