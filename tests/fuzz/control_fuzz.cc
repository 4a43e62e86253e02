// SPDX-License-Identifier: Apache-2.0
// Packets on the control socket, in both directions. What is accepted encodes to the same bytes.
//
// Input: one byte (0 = a request to the keeper, else a reply or event from it), then the packet.
#include <string>

#include "tests/fuzz/input.h"
#include "wire/control.h"

using vitrine::fuzz::require;
using namespace vitrine::wire;

namespace {

std::string encode(const FromKeeper& message) {
  if (const auto* reply = std::get_if<NumberedReply>(&message))
    return encode_reply(reply->number, reply->reply);
  return encode_event(std::get<Event>(message));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vitrine::fuzz::Input in(data, size);
  const bool to_keeper = in.byte() == 0;
  const std::string packet(in.all());
  if (to_keeper) {
    const auto request = decode_request(packet);
    if (!request) return 0;
    require(encode_request(request->number, request->request) == packet, "a request is itself");
    if (const auto* create = std::get_if<Create>(&request->request))
      (void)create->limits.validate();
  } else {
    const auto message = decode_from_keeper(packet);
    if (message) require(encode(*message) == packet, "a message of the keeper is itself");
  }
  return 0;
}
