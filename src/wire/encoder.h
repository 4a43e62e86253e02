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
inline constexpr std::uint64_t kMaxExact = 1ull << 53;  // JSON has no larger exact numbers

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

  static void visit_fields(auto& io, auto& m) {
    io.between(m.width, kMinSide, kMaxSide);
    io.between(m.height, kMinSide, kMaxSide);
    io.between(m.offset, 0, 1 << 20);
    io.between(m.stride, m.width * 4, 4 * kMaxSide + 4096);
    io.require(m.stride % 4 == 0);
    io.between(m.fps, 1, kMaxFps);
    io.up_to(m.format, Format::gif);
    io.between(m.max_seconds, 1, kMaxSeconds);
    io.between(m.max_bytes, kMinBytes, kMaxBytes);
  }
};
// front -> encoder.
struct Stop {};

using Request = std::variant<Start, Stop>;

// encoder -> front: sealed, and the first frame was read. What the file will hold.
struct Started {
  std::uint32_t width = 0;  // of the video
  std::uint32_t height = 0;
  std::uint32_t fps = 0;
  std::string codec;  // "h264", "vp8", "apng", "gif"

  static void visit_fields(auto& io, auto& m) {
    io.between(m.width, 1, kMaxSide + 1);
    io.between(m.height, 1, kMaxSide + 1);
    io.between(m.fps, 1, kMaxFps);
    io.text(m.codec, 16);
  }
};

struct Progress {
  std::uint64_t frames = 0;        // encoded: a frame like the one before is not
  std::uint64_t bytes = 0;         // in the file
  std::uint64_t milliseconds = 0;  // recorded

  static void visit_fields(auto& io, auto& m) {
    io.between(m.frames, 0, kMaxExact);
    io.between(m.bytes, 0, kMaxExact);
    io.between(m.milliseconds, 0, kMaxExact);
  }
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

  static void visit_fields(auto& io, auto& m) {
    io(m.progress);
    io.up_to(m.reason, Reason::error);
    io.text(m.detail, kMaxDetail);
  }
};

using Reply = std::variant<Started, Progress, Stopped>;

std::string encode_request(const Request& request);
Result<Request> decode_request(std::string_view packet);
std::string encode_reply(const Reply& reply);
Result<Reply> decode_reply(std::string_view packet);

std::string_view to_string(Format format);  // "mp4"
std::string_view to_string(Reason reason);

}  // namespace vitrine::wire::encoder
