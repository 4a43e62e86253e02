// SPDX-License-Identifier: Apache-2.0
#include "wire/encoder.h"

#include <array>

#include "wire/fields.h"

namespace vitrine::wire::encoder {

namespace {

constexpr std::array<std::string_view, 4> kFormats{"mp4", "webm", "apng", "gif"};
constexpr std::array<std::string_view, 6> kReasons{"asked",       "time",      "size",
                                                   "source_gone", "disk_full", "error"};

}  // namespace

std::string encode_request(const Request& request) { return pack(request); }
std::string encode_reply(const Reply& reply) { return pack(reply); }

Result<Request> decode_request(std::string_view packet) {
  return unpack<Request>(packet, "request to the encoder", kMaxPacket);
}
Result<Reply> decode_reply(std::string_view packet) {
  return unpack<Reply>(packet, "answer from the encoder", kMaxPacket);
}

std::string_view to_string(Format format) { return kFormats.at(static_cast<std::size_t>(format)); }
std::string_view to_string(Reason reason) { return kReasons.at(static_cast<std::size_t>(reason)); }

}  // namespace vitrine::wire::encoder
