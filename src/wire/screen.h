// SPDX-License-Identifier: Apache-2.0
// What the front and `vitrine-screen` say to each other: windows, input, pictures of windows.
//
// One SEQPACKET socket, one message in a datagram. The front numbers its requests from 1 and each is
// answered once, under its number; answers may come in another order than the requests. Ready comes
// unasked, once, as number 0. A front that takes the socket over from one that died finds answers to
// its predecessor's requests there: it starts its numbers at random, and drops what it did not ask.
//
// Trust: the helper lives in the session's jail, so the front counts it as hostile. A decoder accepts
// exactly what an encoder makes; anything else is `invalid_argument`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace vitrine::wire::screen {

inline constexpr std::size_t kMaxEvents = 1000;         // in one Input
inline constexpr std::size_t kMaxCharacters = 10'000;   // of all its texts together
inline constexpr std::size_t kMaxKey = 128;             // bytes of a chord
inline constexpr std::uint32_t kMaxWait = 10'000;       // ms, one event
inline constexpr std::uint32_t kMaxWaits = 30'000;      // ms, all events of one Input
inline constexpr std::int32_t kMaxCoordinate = 32'767;  // X11 has no larger ones
inline constexpr std::uint8_t kMaxButton = 9;
inline constexpr std::uint8_t kMaxClicks = 5;
inline constexpr std::uint16_t kMaxSteps = 1000;   // of one drag
inline constexpr std::int16_t kMaxScroll = 100;    // notches, one event
inline constexpr std::size_t kMaxWindows = 512;    // told in one answer
inline constexpr std::size_t kMaxTitle = 256;      // bytes, UTF-8
inline constexpr std::size_t kMaxRefusal = 1024;   // bytes, UTF-8
inline constexpr std::uint32_t kMaxSide = 16'384;  // pixels of a captured window
// Every valid message fits: 1,000 events with a full chord each, or 512 windows with full titles.
inline constexpr std::size_t kMaxPacket = 192 * 1024;

// Where on the screen; the top left corner is 0,0.
struct Point {
  std::int32_t x = 0;
  std::int32_t y = 0;
  bool operator==(const Point&) const = default;

  static void visit_fields(auto& io, auto& m) {
    io.between(m.x, -kMaxCoordinate, kMaxCoordinate);
    io.between(m.y, -kMaxCoordinate, kMaxCoordinate);
  }
};

// -- input events. `at`: the pointer moves there first; without it, it stays.

struct Move {
  Point to;
  static void visit_fields(auto& io, auto& m) { io(m.to); }
};
struct Click {
  std::optional<Point> at;
  std::uint8_t button = 1;  // 1 left, 2 middle, 3 right
  std::uint8_t count = 1;   // 2 = a double click

  static void visit_fields(auto& io, auto& m) {
    io.optional(m.at);
    io.between(m.button, 1, kMaxButton);
    io.between(m.count, 1, kMaxClicks);
  }
};
struct Drag {
  Point from;
  Point to;
  std::uint8_t button = 1;
  std::uint16_t steps = 10;  // movements between press and release

  static void visit_fields(auto& io, auto& m) {
    io(m.from, m.to);
    io.between(m.button, 1, kMaxButton);
    io.between(m.steps, 1, kMaxSteps);
  }
};
struct Scroll {
  std::optional<Point> at;
  std::int16_t dx = 0;  // notches; right and down are positive
  std::int16_t dy = 0;

  static void visit_fields(auto& io, auto& m) {
    io.optional(m.at);
    io.between(m.dx, -kMaxScroll, kMaxScroll);
    io.between(m.dy, -kMaxScroll, kMaxScroll);
  }
};
struct Text {
  std::string text;  // any Unicode; "\n" is Return, "\t" Tab; other control characters are refused
  static void visit_fields(auto& io, auto& m) { io.text(m.text, kMaxCharacters * 4); }
};
struct Key {
  std::string key;  // "Return", "ctrl+shift+s": pressed in order, released in reverse
  static void visit_fields(auto& io, auto& m) { io.text(m.key, kMaxKey); }
};
struct ButtonDown {
  std::optional<Point> at;
  std::uint8_t button = 1;

  static void visit_fields(auto& io, auto& m) {
    io.optional(m.at);
    io.between(m.button, 1, kMaxButton);
  }
};
struct ButtonUp {
  std::optional<Point> at;
  std::uint8_t button = 1;

  static void visit_fields(auto& io, auto& m) {
    io.optional(m.at);
    io.between(m.button, 1, kMaxButton);
  }
};
struct KeyDown {
  std::string key;
  static void visit_fields(auto& io, auto& m) { io.text(m.key, kMaxKey); }
};
struct KeyUp {
  std::string key;
  static void visit_fields(auto& io, auto& m) { io.text(m.key, kMaxKey); }
};
struct Pause {
  std::uint32_t milliseconds = 0;
  static void visit_fields(auto& io, auto& m) { io.between(m.milliseconds, 0, kMaxWait); }
};
struct Close {
  std::uint32_t window = 0;  // asked to close, as by its title bar's button; 0 = the active one
  static void visit_fields(auto& io, auto& m) { io(m.window); }
};

using InputEvent = std::variant<Move, Click, Drag, Scroll, Text, Key, ButtonDown, ButtonUp, KeyDown,
                                KeyUp, Pause, Close>;

// -- front -> helper

struct ListWindows {};
// Checked whole before anything of it happens. One after the other; Delivered when the X server has
// taken the last of it.
struct Input {
  std::vector<InputEvent> events;

  // Whether all events together stay within kMaxCharacters and kMaxWaits.
  bool is_within_limits() const;

  static void visit_fields(auto& io, auto& m) {
    io.template list<std::uint16_t>(m.events, kMaxEvents, [&](auto& event) { io(event); });
    io.require(m.is_within_limits());
  }
};
// The pixels of one mapped window, also where others lie over it.
struct CaptureWindow {
  std::uint32_t window = 0;
  static void visit_fields(auto& io, auto& m) { io(m.window); }
};

using Request = std::variant<ListWindows, Input, CaptureWindow>;

// -- helper -> front

// The root window is painted and the window manager at work. Number 0: nobody asked.
struct Ready {
  bool again = false;  // the one before was killed, with what it was asked
  static void visit_fields(auto& io, auto& m) { io(m.again); }
};

struct Window {
  std::uint32_t id = 0;
  std::string title;
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::uint32_t width = 0;  // 1 to 65,535, as X11 has it; may reach beyond the screen
  std::uint32_t height = 0;
  bool override_redirect = false;  // a menu or a tooltip: no window of its own
  bool mapped = false;
  bool active = false;       // has the keyboard
  std::uint32_t z = 0;       // 0 is the lowest; unmapped ones have a place too
  std::uint32_t parent = 0;  // the window a dialog belongs to; 0 = none
  bool operator==(const Window&) const = default;

  static void visit_fields(auto& io, auto& m) {
    io(m.id);
    io.text(m.title, kMaxTitle);
    io.between(m.x, -kMaxCoordinate - 1, kMaxCoordinate);
    io.between(m.y, -kMaxCoordinate - 1, kMaxCoordinate);
    io.between(m.width, 1, 65'535);
    io.between(m.height, 1, 65'535);
    io(m.override_redirect, m.mapped, m.active, m.z, m.parent);
  }
};
// From the top down. `more` if there are others.
struct Windows {
  std::vector<Window> windows;
  bool more = false;

  static void visit_fields(auto& io, auto& m) {
    io(m.more);
    io.template list<std::uint16_t>(m.windows, kMaxWindows, [&](auto& window) { io(window); });
  }
};
struct Delivered {};
struct Refused {
  std::string text;                    // for people: what was wrong, and what would be accepted
  std::optional<std::uint16_t> event;  // Input: which one, from 0

  static void visit_fields(auto& io, auto& m) {
    io.text(m.text, kMaxRefusal);
    io.padded(m.event);
    io.require(m.event.value_or(0) < kMaxEvents);
  }
};
// One descriptor comes with it: a memory file, sealed against every change, of height * stride
// bytes; a pixel is four, blue first, the last without meaning. stride = width * 4.
struct Captured {
  std::uint32_t width = 0;
  std::uint32_t height = 0;

  static void visit_fields(auto& io, auto& m) {
    io.between(m.width, 1, kMaxSide);
    io.between(m.height, 1, kMaxSide);
  }
};

using Reply = std::variant<Ready, Windows, Delivered, Refused, Captured>;

struct NumberedRequest {
  std::uint32_t number = 0;
  Request request;
};
struct NumberedReply {
  std::uint32_t number = 0;
  Reply reply;
};

std::string encode_request(std::uint32_t number, const Request& request);
Result<NumberedRequest> decode_request(std::string_view packet);
std::string encode_reply(std::uint32_t number, const Reply& reply);
Result<NumberedReply> decode_reply(std::string_view packet);

}  // namespace vitrine::wire::screen
