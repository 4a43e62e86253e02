// SPDX-License-Identifier: Apache-2.0
#include "wire/egress.h"

#include <algorithm>

#include "wire/fields.h"

namespace vitrine::wire {

namespace {

// Plain ASCII only: it is shown to people and models.
bool is_plain(std::string_view text, std::size_t most) {
  return text.size() <= most &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; });
}

}  // namespace

template <class IO>
void visit_fields(IO& io, Visited<IO, NetworkEntry>& entry) {
  io(entry.host, entry.port);
  io.up_to(entry.decision, NetworkDecision::failed);
  io(entry.reason, entry.address, entry.sent, entry.received);
  io.require(is_plain(entry.host, 255) && is_plain(entry.reason, kMaxReason) &&
             is_plain(entry.address, 64));
}

std::string encode_egress_setup(const EgressSetup& setup) { return pack(setup); }

Result<EgressSetup> decode_egress_setup(std::string_view bytes) {
  return unpack<EgressSetup>(bytes, "setup of a proxy");
}

std::string encode_egress(const EgressMessage& message) { return pack(message); }

Result<EgressMessage> decode_egress(std::string_view packet) {
  return unpack<EgressMessage>(packet, "message of a proxy", kMaxEgressMessage);
}

}  // namespace vitrine::wire
