// SPDX-License-Identifier: Apache-2.0
// What the front and `vitrine-encoder` say to each other: one recording.
//
// One SEQPACKET socket, one message in a datagram. The front sends Start, first and once, with two
// descriptors (the framebuffer file, for reading, and the file to write, empty), and may send Stop. The encoder answers Started, then Progress about each second, and last exactly one
// Stopped; a Start that it cannot follow is answered with Stopped alone. The end of the socket
// without Stopped means that it was killed: what it wrote until then can be played.
//
// Trust: the encoder reads pixels that a session chose, so the front counts it as hostile. A decoder
// accepts exactly what an encoder makes; anything else is `invalid_argument`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace vitrine::wire {
class Reader;
class Writer;
}  // namespace vitrine::wire

namespace vitrine::wire::encoder {

// The first two are videos; the others are pictures for chat windows: at most kMaxPictureWidth wide
// and kMaxPictureFps fast, whatever the wish.
enum class Format : std::uint8_t { mp4 = 0, webm = 1, apng = 2, gif = 3 };

inline constexpr std::uint32_t kMinSide = 16;
inline constexpr std::uint32_t kMaxSide = 4096;
inline constexpr std::uint32_t kMaxFps = 60;
inline constexpr std::uint32_t kMaxSeconds = 24 * 3600;
inline constexpr std::uint64_t kMinBytes = 64 * 1024;
inline constexpr std::uint64_t kMaxBytes = 1ull << 40;
inline constexpr std::uint32_t kMaxPictureWidth = 640;
inline constexpr std::uint32_t kMaxPictureFps = 10;
inline constexpr std::size_t kMaxDetail = 512;  // bytes, UTF-8
inline constexpr std::size_t kMaxPacket = 1024;

// front -> encoder. Where the pixels lie in the framebuffer file: rows of four-byte pixels, blue
// first. decode_request() refuses what is not within the limits above.
struct Start {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint64_t offset = 0;  // of the first pixel
  std::uint32_t stride = 0;  // bytes from row to row
  std::uint32_t fps = 15;
  Format format = Format::mp4;
  std::uint32_t max_seconds = 600;
  std::uint64_t max_bytes = 256ull << 20;

  void write(Writer& out) const;
  static Start read(Reader& in);
};
// front -> encoder.
struct Stop {
  void write(Writer& out) const;
  static Stop read(Reader& in);
};

using Request = std::variant<Start, Stop>;

// encoder -> front: sealed, and the first frame was read. What the file will hold.
struct Started {
  std::uint32_t width = 0;  // of the video
  std::uint32_t height = 0;
  std::uint32_t fps = 0;
  std::string codec;  // "h264", "vp8", "apng", "gif"
  void write(Writer& out) const;
  static Started read(Reader& in);
};

struct Progress {
  std::uint64_t frames = 0;        // encoded: a frame like the one before is not
  std::uint64_t bytes = 0;         // in the file
  std::uint64_t milliseconds = 0;  // recorded
  void write(Writer& out) const;
  static Progress read(Reader& in);
};

enum class Reason : std::uint8_t {
  asked = 0,        // Stop, or the front went away
  time = 1,         // max_seconds
  size = 2,         // max_bytes
  source_gone = 3,  // the framebuffer file is shorter than it must be
  disk_full = 4,
  error = 5,  // see detail; also a Start that cannot be followed
};

struct Stopped {
  Progress progress;
  Reason reason = Reason::asked;
  std::string detail;  // for people
  void write(Writer& out) const;
  static Stopped read(Reader& in);
};

using Reply = std::variant<Started, Progress, Stopped>;

std::string encode_request(const Request& request);
Result<Request> decode_request(std::string_view packet);
std::string encode_reply(const Reply& reply);
Result<Reply> decode_reply(std::string_view packet);

std::string_view to_string(Format format);  // "mp4"
std::string_view to_string(Reason reason);

}  // namespace vitrine::wire::encoder
