// SPDX-License-Identifier: Apache-2.0
// Cuts a message into the frames that carry it; wire::Assembler is the inverse.
//
//   for (MessageFrames frames(type, execution, payload); frames.any();) send(frames.next());
//
// The frames point into the payload, which must outlive them. An empty message is one empty frame.
// The caller checks max_message(): what is longer is cut all the same, and refused by the peer.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/frame.h"

namespace vitrine::wire {

class MessageFrames {
 public:
  // `sequence` is the number of the first frame; each following frame has the next one.
  MessageFrames(Type type, std::uint64_t execution, std::string_view payload,
                std::uint32_t sequence = 0)
      : left_(payload), execution_(execution), sequence_(sequence), type_(type) {}

  bool any() const { return position_ != Position::end; }
  // Call only while any().
  Frame next();

 private:
  enum class Position : std::uint8_t { first, rest, end };

  std::string_view left_;
  std::uint64_t execution_;
  std::uint32_t sequence_;
  Type type_;
  Position position_ = Position::first;
};

}  // namespace vitrine::wire
