// SPDX-License-Identifier: Apache-2.0
// One session's socket and its two output pipes, as its client sees them.
//
// Nothing here waits. Messages that the worker does not take yet stay in an outbox; watch socket()
// for writing while unsent() and call flush().
//
// Ownership: owns its copies of the descriptors. Letting go of them ends nothing: the keeper has
//            copies, and another client may attach.
// Threading: one thread (or strand) at a time.
// Trust:     every byte that arrives was chosen by untrusted code. receive() gives only messages
//            that kept the rules of wire/frame.h; their payloads must still be decoded.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "control/client.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace vitrine::bench::control {

enum class Stream { out, err };

// What was kept of a stream that may be endless.
struct Captured {
  std::string bytes;
  bool truncated = false;
};

class Channel {
 public:
  explicit Channel(Handover handover);

  std::uint64_t session() const { return session_; }
  Source source() const { return source_; }
  int socket() const { return socket_.get(); }
  int pipe(Stream stream) const { return stream == Stream::out ? out_.get() : err_.get(); }

  // Each is taken whole or refused: `over_limit` for a message that is too long, `unavailable` once
  // the worker is gone.
  Status setup(const wire::Setup& setup);
  Status execute(std::uint64_t execution, const wire::Execute& execute);
  Status input(std::uint64_t execution, const wire::Input& input);
  // After attaching: asks for what the last execution sent, from its beginning. What the client
  // before left half-read is skipped.
  Status resume();

  bool unsent() const { return !outbox_.empty(); }
  Status flush();

  // The next whole message; nullopt when there is none yet. `unavailable` at the end of the stream;
  // any other error means that the worker lies, and is not to be believed any more.
  Result<std::optional<wire::Message>> receive();

  // Appends what lies in a pipe at this moment, and no later byte: called at a finished message it
  // reads what that execution wrote. Keeps at most `limit` bytes in `into`, the rest is dropped.
  // True if anything was there.
  Result<bool> drain(Stream stream, Captured& into, std::size_t limit);
  // Nobody can write into this pipe any more, and it is empty: do not wait for it.
  bool ended(Stream stream) const;

 private:
  Status send(wire::Type type, std::uint64_t execution, std::string_view payload);

  std::uint64_t session_;
  Source source_;
  Fd socket_;
  Fd out_;
  Fd err_;
  std::deque<std::string> outbox_;   // frames
  std::deque<wire::Message> inbox_;  // came together with the one given out before
  wire::Assembler assembler_{wire::Assembler::Direction::from_worker};
};

}  // namespace vitrine::bench::control
