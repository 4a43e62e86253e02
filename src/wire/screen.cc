// SPDX-License-Identifier: Apache-2.0
#include "wire/screen.h"

#include <algorithm>

#include "wire/fields.h"

namespace vitrine::wire::screen {

namespace {

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

bool Input::is_within_limits() const {
  std::size_t typed = 0;
  std::uint64_t waits = 0;
  for (const InputEvent& event : events) {
    if (const auto* text = std::get_if<Text>(&event)) typed += characters(text->text);
    if (const auto* pause = std::get_if<Pause>(&event)) waits += pause->milliseconds;
  }
  return typed <= kMaxCharacters && waits <= kMaxWaits;
}

std::string encode_request(std::uint32_t number, const Request& request) {
  FieldWriter out;
  out(number, request);
  return out.take();
}

Result<NumberedRequest> decode_request(std::string_view packet) {
  FieldReader in(packet);
  Result<NumberedRequest> numbered{NumberedRequest{}};
  in(numbered->number, numbered->request);
  if (numbered->number == 0 || packet.size() > kMaxPacket || !in.complete())
    return Error{Code::invalid_argument, "malformed request to the screen"};
  return numbered;
}

std::string encode_reply(std::uint32_t number, const Reply& reply) {
  FieldWriter out;
  out(number, reply);
  return out.take();
}

Result<NumberedReply> decode_reply(std::string_view packet) {
  FieldReader in(packet);
  Result<NumberedReply> numbered{NumberedReply{}};
  in(numbered->number, numbered->reply);
  in.require(std::holds_alternative<Ready>(numbered->reply) == (numbered->number == 0));
  if (packet.size() > kMaxPacket || !in.complete())
    return Error{Code::invalid_argument, "malformed answer from the screen"};
  return numbered;
}

}  // namespace vitrine::wire::screen
