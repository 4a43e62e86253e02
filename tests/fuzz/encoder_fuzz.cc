// SPDX-License-Identifier: Apache-2.0
// Packets from and to `vitrine-encoder`: what is accepted is within its limits, and means the same
// when it is sent on.
//
// Input: one byte (0 = from the encoder, else from the front), then the packet.
#include <string>

#include "tests/fuzz/input.h"
#include "wire/encoder.h"
#include "wire/messages.h"

using vitrine::fuzz::require;
using namespace vitrine::wire::encoder;

namespace {

void check_reply(std::string_view packet) {
  vitrine::Result<Reply> got = decode_reply(packet);
  if (!got) {
    require(got.error().code == vitrine::Code::invalid_argument, "bad is a bad argument");
    return;
  }
  require(encode_reply(*got) == packet, "it means the same");
  if (const auto* stopped = std::get_if<Stopped>(&*got)) {
    require(vitrine::wire::is_utf8(stopped->detail), "reasons are text");
    require(stopped->detail.size() <= kMaxDetail, "reasons are short");
    require(!to_string(stopped->reason).empty(), "every reason has a name");
  }
}

void check_request(std::string_view packet) {
  vitrine::Result<Request> got = decode_request(packet);
  if (!got) {
    require(got.error().code == vitrine::Code::invalid_argument, "bad is a bad argument");
    return;
  }
  require(encode_request(*got) == packet, "it means the same");
  if (const auto* start = std::get_if<Start>(&*got)) {
    require(start->fps >= 1 && start->fps <= kMaxFps, "the rate is bounded");
    require(start->stride >= start->width * 4, "rows do not overlap");
    require(!to_string(start->format).empty(), "every format has a name");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vitrine::fuzz::Input in(data, size);
  const bool from_encoder = in.byte() == 0;
  const std::string packet(in.all());
  from_encoder ? check_reply(packet) : check_request(packet);
  return 0;
}
