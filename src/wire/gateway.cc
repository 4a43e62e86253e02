// SPDX-License-Identifier: Apache-2.0
#include "wire/gateway.h"

#include "wire/fields.h"

namespace vitrine::wire::gateway {

std::string encode_request(const Request& request) { return pack(request); }
std::string encode_reply(const Reply& reply) { return pack(reply); }

Result<Request> decode_request(std::string_view packet) {
  return unpack<Request>(packet, "request to the gateway", kMaxPacket);
}
Result<Reply> decode_reply(std::string_view packet) {
  return unpack<Reply>(packet, "answer from the gateway", kMaxPacket);
}

}  // namespace vitrine::wire::gateway
