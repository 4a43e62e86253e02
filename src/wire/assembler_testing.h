// SPDX-License-Identifier: Apache-2.0
// For tests of the Assembler: messages cut into frames, fed to it, and what came of them.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "wire/frame.h"

namespace vitrine::wire {

using Direction = Assembler::Direction;

// One frame that owns its payload.
struct Piece {
  Frame frame;
  std::string payload;

  Frame get() const {
    Frame whole = frame;
    whole.payload = payload;
    return whole;
  }
};

// Cuts a message into frames of at most `size` bytes, counting from `sequence`.
inline std::vector<Piece> cut(const Message& message, std::size_t size, std::uint8_t flags = 0) {
  std::vector<Piece> pieces;
  std::size_t done = 0;
  do {
    std::string part = message.payload.substr(done, size);
    Frame frame{.type = message.type, .flags = flags, .execution = message.execution};
    frame.sequence = message.sequence + static_cast<std::uint32_t>(pieces.size());
    if (done > 0) frame.flags |= kRest;
    done += part.size();
    if (done < message.payload.size()) frame.flags |= kMore;
    pieces.push_back({frame, std::move(part)});
  } while (done < message.payload.size());
  return pieces;
}

inline std::vector<Piece> operator+(std::vector<Piece> left, const std::vector<Piece>& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

struct Outcome {
  std::vector<Message> messages;
  Status status;
  std::size_t taken = 0;  // frames before the refused one
};

inline Outcome feed(Assembler& assembler, const std::vector<Piece>& pieces) {
  Outcome outcome;
  for (const Piece& piece : pieces) {
    Result<std::optional<Message>> added = assembler.add(piece.get());
    if (!added) {
      outcome.status = added.error();
      return outcome;
    }
    ++outcome.taken;
    if (*added) outcome.messages.push_back(std::move(**added));
  }
  return outcome;
}

inline Outcome feed(const std::vector<Piece>& pieces,
                    Direction direction = Direction::from_worker) {
  Assembler assembler(direction);
  return feed(assembler, pieces);
}

inline void expect_lie(const Outcome& outcome, std::size_t after) {
  ASSERT_FALSE(outcome.status) << "believed";
  EXPECT_EQ(outcome.status.error().code, Code::invalid_argument);
  EXPECT_EQ(outcome.taken, after);
}

inline Message note(std::uint64_t execution, std::uint32_t sequence, std::string text = "a note") {
  return {Type::note, execution, sequence, std::move(text)};
}

inline const Message kReady{Type::ready, 0, 0, "ready"};

}  // namespace vitrine::wire
