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

namespace vitrine::wire {
class Reader;
class Writer;
}  // namespace vitrine::wire

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

  void write(Writer& out) const;
  static Point read(Reader& in);
};

// -- input events. `at`: the pointer moves there first; without it, it stays.

struct Move {
  Point to;
  void write(Writer& out) const;
  static Move read(Reader& in);
};
struct Click {
  std::optional<Point> at;
  std::uint8_t button = 1;  // 1 left, 2 middle, 3 right
  std::uint8_t count = 1;   // 2 = a double click
  void write(Writer& out) const;
  static Click read(Reader& in);
};
struct Drag {
  Point from;
  Point to;
  std::uint8_t button = 1;
  std::uint16_t steps = 10;  // movements between press and release
  void write(Writer& out) const;
  static Drag read(Reader& in);
};
struct Scroll {
  std::optional<Point> at;
  std::int16_t dx = 0;  // notches; right and down are positive
  std::int16_t dy = 0;
  void write(Writer& out) const;
  static Scroll read(Reader& in);
};
struct Text {
  std::string text;  // any Unicode; "\n" is Return, "\t" Tab; other control characters are refused
  void write(Writer& out) const;
  static Text read(Reader& in);
};
struct Key {
  std::string key;  // "Return", "ctrl+shift+s": pressed in order, released in reverse
  void write(Writer& out) const;
  static Key read(Reader& in);
};
struct ButtonDown {
  std::optional<Point> at;
  std::uint8_t button = 1;
  void write(Writer& out) const;
  static ButtonDown read(Reader& in);
};
struct ButtonUp {
  std::optional<Point> at;
  std::uint8_t button = 1;
  void write(Writer& out) const;
  static ButtonUp read(Reader& in);
};
struct KeyDown {
  std::string key;
  void write(Writer& out) const;
  static KeyDown read(Reader& in);
};
struct KeyUp {
  std::string key;
  void write(Writer& out) const;
  static KeyUp read(Reader& in);
};
struct Pause {
  std::uint32_t milliseconds = 0;
  void write(Writer& out) const;
  static Pause read(Reader& in);
};
struct Close {
  std::uint32_t window = 0;  // asked to close, as by its title bar's button; 0 = the active one
  void write(Writer& out) const;
  static Close read(Reader& in);
};

using InputEvent = std::variant<Move, Click, Drag, Scroll, Text, Key, ButtonDown, ButtonUp, KeyDown,
                                KeyUp, Pause, Close>;

// -- front -> helper

struct ListWindows {
  void write(Writer& out) const;
  static ListWindows read(Reader& in);
};
// Checked whole before anything of it happens. One after the other; Delivered when the X server has
// taken the last of it.
struct Input {
  std::vector<InputEvent> events;
  void write(Writer& out) const;
  static Input read(Reader& in);
};
// The pixels of one mapped window, also where others lie over it.
struct CaptureWindow {
  std::uint32_t window = 0;
  void write(Writer& out) const;
  static CaptureWindow read(Reader& in);
};

using Request = std::variant<ListWindows, Input, CaptureWindow>;

// -- helper -> front

// The root window is painted and the window manager at work. Number 0: nobody asked.
struct Ready {
  bool again = false;  // the one before was killed, with what it was asked
  void write(Writer& out) const;
  static Ready read(Reader& in);
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

  void write(Writer& out) const;
  static Window read(Reader& in);
};
// From the top down. `more` if there are others.
struct Windows {
  std::vector<Window> windows;
  bool more = false;
  void write(Writer& out) const;
  static Windows read(Reader& in);
};
struct Delivered {
  void write(Writer& out) const;
  static Delivered read(Reader& in);
};
struct Refused {
  std::string text;                    // for people: what was wrong, and what would be accepted
  std::optional<std::uint16_t> event;  // Input: which one, from 0
  void write(Writer& out) const;
  static Refused read(Reader& in);
};
// One descriptor comes with it: a memory file, sealed against every change, of height * stride
// bytes; a pixel is four, blue first, the last without meaning. stride = width * 4.
struct Captured {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  void write(Writer& out) const;
  static Captured read(Reader& in);
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
