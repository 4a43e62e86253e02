// SPDX-License-Identifier: Apache-2.0
// A stream of datagrams, as a hostile peer may send them, into Together, decode_frame() and an
// Assembler.
//
// Input: one byte (direction), then datagrams: u16 length, the bytes. A length of 0xFFFF is not a
// datagram: a new reader adopts the stream there.
#include <memory>
#include <string>

#include "tests/fuzz/input.h"
#include "wire/frame.h"

using vitrine::fuzz::require;
using namespace vitrine::wire;

namespace {

// What is known about the stream without looking into the assembler.
struct Stream {
  std::size_t received = 0;  // payload bytes since the last message or adoption
};

void check(const Message& message, const Frame& last, const Stream& stream) {
  require(message.type == last.type, "a message has the type of its last frame");
  require(message.execution == last.execution, "a message has the execution of its last frame");
  require(!last.more(), "a message ends with a frame that says so");
  require(message.payload.size() <= stream.received, "no byte comes from nowhere");
  require(message.payload.size() <= max_message(message.type), "no message is too long");
  require(message.payload.ends_with(last.payload), "the last bytes are those of the last frame");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vitrine::fuzz::Input in(data, size);
  const auto direction =
      in.byte() % 2 == 0 ? Assembler::Direction::from_worker : Assembler::Direction::from_client;
  Assembler assembler(direction);
  Stream stream;
  while (!in.empty()) {
    const std::uint16_t length = in.word();
    if (length == 0xFFFF) {
      assembler.adopt();
      stream = {};
      continue;
    }
    // A copy of exactly the datagram's size, so that a read beyond it is seen.
    const std::string_view bytes = in.bytes(length);
    const std::unique_ptr<char[]> copy(new char[bytes.size()]);
    bytes.copy(copy.get(), bytes.size());
    const std::string_view datagram(copy.get(), bytes.size());

    Together frames(datagram);
    std::size_t at = 0;
    int count = 0;
    while (frames.any()) {
      const vitrine::Result<Frame> frame = frames.next();
      if (!frame) {
        require(frame.error().code == vitrine::Code::invalid_argument,
                "a bad frame is a bad argument");
        break;
      }
      const std::string encoded = encode_frame(*frame);
      require(datagram.substr(at).starts_with(encoded),
              "frames encode to the bytes they came from");
      require(decode_frame(datagram.substr(at, encoded.size())).operator bool(),
              "a frame of several is a frame by itself");
      at += encoded.size();
      require(++count <= kMaxTogether, "there are no more than allowed");

      stream.received += frame->payload.size();
      const auto message = assembler.add(*frame);
      if (!message) return 0;  // the peer is not to be believed any more
      if (!*message) continue;
      require(is_from_worker((*message)->type) == (direction == Assembler::Direction::from_worker),
              "a message goes one way only");
      check(**message, *frame, stream);
      // These may stand between the frames of another message.
      const bool between = (*message)->type == Type::stack || (*message)->type == Type::line;
      if (!between) stream = {};
    }
    require(static_cast<bool>(decode_frame(datagram)) == (count == 1 && at == datagram.size()),
            "a datagram is one frame or it is not");
  }
  return 0;
}
