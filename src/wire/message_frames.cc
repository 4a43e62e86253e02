// SPDX-License-Identifier: Apache-2.0
#include "wire/message_frames.h"

namespace vitrine::wire {

Frame MessageFrames::next() {
  const std::string_view part = left_.substr(0, kMaxPayload);
  left_.remove_prefix(part.size());
  const bool more = !left_.empty();
  const bool rest = position_ == Position::rest;
  position_ = more ? Position::rest : Position::end;
  return {.type = type_,
          .flags = static_cast<std::uint8_t>((more ? kMore : 0) | (rest ? kRest : 0)),
          .execution = execution_,
          .sequence = sequence_++,
          .payload = part};
}

}  // namespace vitrine::wire
