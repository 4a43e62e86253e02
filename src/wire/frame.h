// SPDX-License-Identifier: Apache-2.0
// Frames on the session socket, client <-> worker (docs/session-socket.md is the full reference).
//
// A frame is a 24-byte header and a payload, at most 64 KiB together. A message longer than one frame
// is sent as several, `kMore` on all but the last and `kRest` on all but the first. From the worker,
// sequence numbers count the frames of one execution; from the client, those of one message.
//
// A SEQPACKET datagram from the client is one frame; one from the worker holds up to kMaxTogether,
// so that a value and the end of its execution wake the client once.
//
// Trust: the client treats every frame from a worker as hostile; decode_frame() and Assembler are
// the only ways in, and both are fuzzed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace vitrine::wire {

inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::size_t kMaxFrame = 64 * 1024;
inline constexpr std::size_t kHeaderSize = 24;
inline constexpr std::size_t kMaxPayload = kMaxFrame - kHeaderSize;
inline constexpr int kMaxTogether = 16;        // frames in a datagram
inline constexpr std::size_t kMaxNote = 4096;  // bytes of one note
inline constexpr std::size_t kLineSize = 4;    // bytes of a line message
inline constexpr std::size_t kMaxNotes = 32;   // of one execution that are looked at

enum class Type : std::uint8_t {
  // client -> worker
  setup = 1,
  execute = 2,
  input = 3,
  resume = 4,
  captured = 5,
  package_reply = 6,
  // worker -> client
  ready = 64,
  result = 65,
  error = 66,
  note = 67,
  input_request = 68,
  stack = 69,
  finished = 70,
  painted = 71,
  line = 72,
  package_request = 73,
  start_failed = 74,  // in place of the first `ready`, to the keeper
};

bool is_from_worker(Type type);
bool is_from_client(Type type);
std::string_view to_string(Type type);

inline constexpr std::uint8_t kMore = 1;    // flags: another frame of this message follows
inline constexpr std::uint8_t kRest = 2;    // flags: continues the message of the frame before
inline constexpr std::uint8_t kReplay = 4;  // flags: sent again on request, see Type::resume

struct Frame {
  Type type = Type::note;
  std::uint8_t flags = 0;
  std::uint64_t execution = 0;  // 0 = none (setup, ready)
  std::uint32_t sequence = 0;
  std::string_view payload;  // into the datagram it was decoded from

  bool more() const { return (flags & kMore) != 0; }
  bool rest() const { return (flags & kRest) != 0; }
  bool replay() const { return (flags & kReplay) != 0; }
};

std::array<char, kHeaderSize> encode_header(const Frame& frame);
std::string encode_frame(const Frame& frame);

// A datagram that is one frame. `invalid_argument` for a wrong magic, version, type, flag or length.
Result<Frame> decode_frame(std::string_view datagram);

// The frames of one datagram, in order. An error is final: what follows it cannot be told.
class Together {
 public:
  explicit Together(std::string_view datagram) : left_(datagram) {}

  bool any() const { return !left_.empty(); }
  // As decode_frame(), and `invalid_argument` for the frame after the last that is allowed.
  Result<Frame> next();

 private:
  std::string_view left_;
  int taken_ = 0;
};

struct Message {
  Type type = Type::note;
  std::uint64_t execution = 0;
  std::uint32_t sequence = 0;  // of its first frame: two messages with the same one are the same
  std::string payload;
};

// The most bytes a whole message of this type may have.
std::size_t max_message(Type type);

// Joins frames into messages. One per direction and socket.
//
// Stack and line frames may come between the frames of another message (a signal handler or another
// thread sends them); they are always whole and their sequence number says nothing. A `ready` frame starts counting anew:
// the replay that follows it repeats the last execution from its first frame.
class Assembler {
 public:
  enum class Direction { from_worker, from_client };
  explicit Assembler(Direction direction) : direction_(direction) {}

  // A whole message once its last frame is in. `invalid_argument` for a wrong direction, a sequence
  // that jumps, or frames of two messages mixed; `over_limit` for one that is too long. After an
  // error the peer is not to be believed any more.
  Result<std::optional<Message>> add(const Frame& frame);

  // A new reader on an old stream: the next frame may carry any sequence number, and the tail of a
  // message whose head went to the reader before is dropped.
  void adopt();

 private:
  Status check_order(const Frame& frame);

  Direction direction_;
  std::uint64_t execution_ = 0;
  std::uint32_t expected_ = 0;
  bool any_sequence_ = false;  // adopted, and no frame came yet
  bool skipping_ = false;      // in the tail of a message whose head went to another reader
  std::optional<Message> partial_;
};

}  // namespace vitrine::wire
