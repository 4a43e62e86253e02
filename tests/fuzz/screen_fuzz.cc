// SPDX-License-Identifier: Apache-2.0
// Packets from and to `vitrine-screen`: what is accepted is within its limits, and means the same
// when it is sent on.
//
// Input: one byte (0 = from the helper, else from the front), then the packet.
#include <string>

#include "tests/fuzz/input.h"
#include "wire/messages.h"
#include "wire/screen.h"

using vitrine::fuzz::require;
using namespace vitrine::wire::screen;

namespace {

void check_windows(const Windows& list) {
  require(list.windows.size() <= kMaxWindows, "the windows are bounded");
  for (const Window& window : list.windows) {
    require(window.title.size() <= kMaxTitle, "titles are short");
    require(vitrine::wire::is_utf8(window.title), "titles are text");
    require(window.width >= 1 && window.width <= 65'535, "a window has a size");
    require(window.x >= -32'768 && window.x <= 32'767, "a window has a place");
  }
}

void check_reply(std::string_view packet) {
  vitrine::Result<NumberedReply> got = decode_reply(packet);
  if (!got) {
    require(got.error().code == vitrine::Code::invalid_argument, "bad is a bad argument");
    return;
  }
  require(encode_reply(got->number, got->reply) == packet, "it means the same");
  require(std::holds_alternative<Ready>(got->reply) == (got->number == 0), "only ready is unasked");
  if (const auto* list = std::get_if<Windows>(&got->reply)) check_windows(*list);
  if (const auto* refused = std::get_if<Refused>(&got->reply)) {
    require(vitrine::wire::is_utf8(refused->text), "reasons are text");
    require(refused->text.size() <= kMaxRefusal, "reasons are short");
    require(!refused->event || *refused->event < kMaxEvents, "it names an event there can be");
  }
  if (const auto* captured = std::get_if<Captured>(&got->reply))
    require(captured->width <= kMaxSide && captured->height <= kMaxSide, "pictures are bounded");
}

void check_request(std::string_view packet) {
  vitrine::Result<NumberedRequest> got = decode_request(packet);
  if (!got) {
    require(got.error().code == vitrine::Code::invalid_argument, "bad is a bad argument");
    return;
  }
  require(encode_request(got->number, got->request) == packet, "it means the same");
  if (const auto* input = std::get_if<Input>(&got->request))
    require(input->events.size() <= kMaxEvents, "the events are bounded");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  vitrine::fuzz::Input in(data, size);
  const bool from_helper = in.byte() == 0;
  const std::string packet(in.all());
  from_helper ? check_reply(packet) : check_request(packet);
  return 0;
}
