// SPDX-License-Identifier: Apache-2.0
#include "wire/screen.h"

#include <algorithm>

#include "wire/checked.h"

namespace vitrine::wire::screen {

namespace {

void write_point(Writer& out, const std::optional<Point>& point) {
  out.u8(point ? 1 : 0);
  if (point) point->write(out);
}

std::optional<Point> read_point(Reader& in) {
  if (!read_bool(in)) return std::nullopt;
  return Point::read(in);
}

template <class T>
T read_between(T value, T least, T most, Reader& in) {
  if (value < least || value > most) in.fail();
  return value;
}

std::uint8_t read_button(Reader& in) {
  return read_between<std::uint8_t>(in.u8(), 1, kMaxButton, in);
}

std::int16_t read_notches(Reader& in) {
  const auto value = static_cast<std::int16_t>(in.u16());
  return read_between<std::int16_t>(value, -kMaxScroll, kMaxScroll, in);
}

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char c) { return (c & 0xC0) != 0x80; }));
}

// What only the events of one Input together can break.
bool within_limits(const std::vector<InputEvent>& events) {
  std::size_t typed = 0;
  std::uint64_t waits = 0;
  for (const InputEvent& event : events) {
    if (const auto* text = std::get_if<Text>(&event)) typed += characters(text->text);
    if (const auto* pause = std::get_if<Pause>(&event)) waits += pause->milliseconds;
  }
  return typed <= kMaxCharacters && waits <= kMaxWaits;
}

}  // namespace

void Point::write(Writer& out) const { out.i32(x).i32(y); }
Point Point::read(Reader& in) {
  Point point;
  point.x = read_between(in.i32(), -kMaxCoordinate, kMaxCoordinate, in);
  point.y = read_between(in.i32(), -kMaxCoordinate, kMaxCoordinate, in);
  return point;
}

void Move::write(Writer& out) const { to.write(out); }
Move Move::read(Reader& in) { return {Point::read(in)}; }

void Click::write(Writer& out) const {
  write_point(out, at);
  out.u8(button).u8(count);
}
Click Click::read(Reader& in) {
  Click click;
  click.at = read_point(in);
  click.button = read_button(in);
  click.count = read_between<std::uint8_t>(in.u8(), 1, kMaxClicks, in);
  return click;
}

void Drag::write(Writer& out) const {
  from.write(out);
  to.write(out);
  out.u8(button).u16(steps);
}
Drag Drag::read(Reader& in) {
  Drag drag;
  drag.from = Point::read(in);
  drag.to = Point::read(in);
  drag.button = read_button(in);
  drag.steps = read_between<std::uint16_t>(in.u16(), 1, kMaxSteps, in);
  return drag;
}

void Scroll::write(Writer& out) const {
  write_point(out, at);
  out.u16(static_cast<std::uint16_t>(dx)).u16(static_cast<std::uint16_t>(dy));
}
Scroll Scroll::read(Reader& in) {
  Scroll scroll;
  scroll.at = read_point(in);
  scroll.dx = read_notches(in);
  scroll.dy = read_notches(in);
  return scroll;
}

void Text::write(Writer& out) const { out.bytes(text); }
Text Text::read(Reader& in) { return {read_text(in, kMaxCharacters * 4)}; }

void Key::write(Writer& out) const { out.bytes(key); }
Key Key::read(Reader& in) { return {read_text(in, kMaxKey)}; }

void ButtonDown::write(Writer& out) const {
  write_point(out, at);
  out.u8(button);
}
ButtonDown ButtonDown::read(Reader& in) {
  ButtonDown down;
  down.at = read_point(in);
  down.button = read_button(in);
  return down;
}

void ButtonUp::write(Writer& out) const {
  write_point(out, at);
  out.u8(button);
}
ButtonUp ButtonUp::read(Reader& in) {
  ButtonUp up;
  up.at = read_point(in);
  up.button = read_button(in);
  return up;
}

void KeyDown::write(Writer& out) const { out.bytes(key); }
KeyDown KeyDown::read(Reader& in) { return {read_text(in, kMaxKey)}; }

void KeyUp::write(Writer& out) const { out.bytes(key); }
KeyUp KeyUp::read(Reader& in) { return {read_text(in, kMaxKey)}; }

void Pause::write(Writer& out) const { out.u32(milliseconds); }
Pause Pause::read(Reader& in) { return {read_between<std::uint32_t>(in.u32(), 0, kMaxWait, in)}; }

void Close::write(Writer& out) const { out.u32(window); }
Close Close::read(Reader& in) { return {in.u32()}; }

void ListWindows::write(Writer&) const {}
ListWindows ListWindows::read(Reader&) { return {}; }

void Input::write(Writer& out) const {
  out.u16(static_cast<std::uint16_t>(events.size()));
  for (const InputEvent& event : events) write_variant(out, event);
}
Input Input::read(Reader& in) {
  Input input;
  const std::uint16_t count = in.u16();
  if (count > kMaxEvents) in.fail();
  for (std::uint16_t i = 0; i < count && !in.failed(); ++i)
    input.events.push_back(read_variant<InputEvent>(in));
  if (!within_limits(input.events)) in.fail();
  return input;
}

void CaptureWindow::write(Writer& out) const { out.u32(window); }
CaptureWindow CaptureWindow::read(Reader& in) { return {in.u32()}; }

void Ready::write(Writer& out) const { out.u8(again ? 1 : 0); }
Ready Ready::read(Reader& in) { return {read_bool(in)}; }

void Window::write(Writer& out) const {
  out.u32(id).bytes(title).i32(x).i32(y).u32(width).u32(height);
  out.u8(override_redirect).u8(mapped).u8(active).u32(z).u32(parent);
}
Window Window::read(Reader& in) {
  Window window;
  window.id = in.u32();
  window.title = read_text(in, kMaxTitle);
  window.x = read_between(in.i32(), -kMaxCoordinate - 1, kMaxCoordinate, in);
  window.y = read_between(in.i32(), -kMaxCoordinate - 1, kMaxCoordinate, in);
  window.width = read_between<std::uint32_t>(in.u32(), 1, 65'535, in);
  window.height = read_between<std::uint32_t>(in.u32(), 1, 65'535, in);
  window.override_redirect = read_bool(in);
  window.mapped = read_bool(in);
  window.active = read_bool(in);
  window.z = in.u32();
  window.parent = in.u32();
  return window;
}

void Windows::write(Writer& out) const {
  out.u8(more).u16(static_cast<std::uint16_t>(windows.size()));
  for (const Window& window : windows) window.write(out);
}
Windows Windows::read(Reader& in) {
  Windows list;
  list.more = read_bool(in);
  const std::uint16_t count = in.u16();
  if (count > kMaxWindows) in.fail();
  for (std::uint16_t i = 0; i < count && !in.failed(); ++i)
    list.windows.push_back(Window::read(in));
  return list;
}

void Delivered::write(Writer&) const {}
Delivered Delivered::read(Reader&) { return {}; }

void Refused::write(Writer& out) const {
  out.bytes(text).u8(event.has_value()).u16(event.value_or(0));
}
Refused Refused::read(Reader& in) {
  Refused refused;
  refused.text = read_text(in, kMaxRefusal);
  const bool named = read_bool(in);
  const std::uint16_t event = in.u16();
  if (named ? event >= kMaxEvents : event != 0) in.fail();
  if (named) refused.event = event;
  return refused;
}

void Captured::write(Writer& out) const { out.u32(width).u32(height); }
Captured Captured::read(Reader& in) {
  Captured captured;
  captured.width = read_between<std::uint32_t>(in.u32(), 1, kMaxSide, in);
  captured.height = read_between<std::uint32_t>(in.u32(), 1, kMaxSide, in);
  return captured;
}

std::string encode_request(std::uint32_t number, const Request& request) {
  Writer out;
  out.u32(number);
  write_variant(out, request);
  return out.take();
}

Result<NumberedRequest> decode_request(std::string_view packet) {
  Reader in(packet);
  const std::uint32_t number = in.u32();
  Request request = read_variant<Request>(in);
  if (number == 0 || packet.size() > kMaxPacket || !in.complete())
    return Error{Code::invalid_argument, "malformed request to the screen"};
  return NumberedRequest{number, std::move(request)};
}

std::string encode_reply(std::uint32_t number, const Reply& reply) {
  Writer out;
  out.u32(number);
  write_variant(out, reply);
  return out.take();
}

Result<NumberedReply> decode_reply(std::string_view packet) {
  Reader in(packet);
  const std::uint32_t number = in.u32();
  Result<NumberedReply> numbered(NumberedReply{number, Ready{}});
  numbered->reply = read_variant<Reply>(in);
  if (std::holds_alternative<Ready>(numbered->reply) != (number == 0)) in.fail();
  if (packet.size() > kMaxPacket || !in.complete())
    return Error{Code::invalid_argument, "malformed answer from the screen"};
  return numbered;
}

}  // namespace vitrine::wire::screen
