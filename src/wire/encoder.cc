// SPDX-License-Identifier: Apache-2.0
#include "wire/encoder.h"

#include <array>

#include "wire/checked.h"

namespace vitrine::wire::encoder {

namespace {

constexpr std::array<std::string_view, 4> kFormats{"mp4", "webm", "apng", "gif"};
constexpr std::array<std::string_view, 6> kReasons{"asked",       "time",      "size",
                                                   "source_gone", "disk_full", "error"};

template <class T>
bool between(T value, T least, T most) {
  return value >= least && value <= most;
}

// Nothing computed from these can overflow.
bool is_within_limits(const Start& start) {
  return between(start.width, kMinSide, kMaxSide) && between(start.height, kMinSide, kMaxSide) &&
         start.offset <= 1 << 20 && start.stride % 4 == 0 &&
         between(start.stride, start.width * 4, 4 * kMaxSide + 4096) &&
         between(start.fps, 1u, kMaxFps) && between(start.max_seconds, 1u, kMaxSeconds) &&
         between(start.max_bytes, kMinBytes, kMaxBytes);
}

}  // namespace

void Start::write(Writer& out) const {
  out.u32(width).u32(height).u64(offset).u32(stride).u32(fps);
  out.u8(static_cast<std::uint8_t>(format)).u32(max_seconds).u64(max_bytes);
}
Start Start::read(Reader& in) {
  Start start;
  start.width = in.u32();
  start.height = in.u32();
  start.offset = in.u64();
  start.stride = in.u32();
  start.fps = in.u32();
  start.format = read_enum(in, Format::gif);
  start.max_seconds = in.u32();
  start.max_bytes = in.u64();
  if (!is_within_limits(start)) in.fail();
  return start;
}

void Stop::write(Writer&) const {}
Stop Stop::read(Reader&) { return {}; }

void Started::write(Writer& out) const { out.u32(width).u32(height).u32(fps).bytes(codec); }
Started Started::read(Reader& in) {
  Started started;
  started.width = in.u32();
  started.height = in.u32();
  started.fps = in.u32();
  started.codec = read_text(in, 16);
  if (!between(started.width, 1u, kMaxSide + 1) || !between(started.height, 1u, kMaxSide + 1) ||
      !between(started.fps, 1u, kMaxFps))
    in.fail();
  return started;
}

void Progress::write(Writer& out) const { out.u64(frames).u64(bytes).u64(milliseconds); }
Progress Progress::read(Reader& in) {
  Progress progress;
  progress.frames = in.u64();
  progress.bytes = in.u64();
  progress.milliseconds = in.u64();
  constexpr std::uint64_t kMost = 1ull << 53;  // what JSON can tell exactly
  if (progress.frames > kMost || progress.bytes > kMost || progress.milliseconds > kMost) in.fail();
  return progress;
}

void Stopped::write(Writer& out) const {
  progress.write(out);
  out.u8(static_cast<std::uint8_t>(reason)).bytes(detail);
}
Stopped Stopped::read(Reader& in) {
  Stopped stopped;
  stopped.progress = Progress::read(in);
  stopped.reason = read_enum(in, Reason::error);
  stopped.detail = read_text(in, kMaxDetail);
  return stopped;
}

std::string encode_request(const Request& request) {
  Writer out;
  write_variant(out, request);
  return out.take();
}

Result<Request> decode_request(std::string_view packet) {
  Reader in(packet);
  Request request = read_variant<Request>(in);
  if (packet.size() > kMaxPacket || !in.complete())
    return Error{Code::invalid_argument, "malformed request to the encoder"};
  return request;
}

std::string encode_reply(const Reply& reply) {
  Writer out;
  write_variant(out, reply);
  return out.take();
}

Result<Reply> decode_reply(std::string_view packet) {
  Reader in(packet);
  Result<Reply> reply(Reply(Progress{}));
  *reply = read_variant<Reply>(in);
  if (packet.size() > kMaxPacket || !in.complete())
    return Error{Code::invalid_argument, "malformed answer from the encoder"};
  return reply;
}

std::string_view to_string(Format format) { return kFormats.at(static_cast<std::size_t>(format)); }
std::string_view to_string(Reason reason) { return kReasons.at(static_cast<std::size_t>(reason)); }

}  // namespace vitrine::wire::encoder
