// SPDX-License-Identifier: Apache-2.0
#include "display/framebuffer.h"

#include <unistd.h>

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vitrine::display {

namespace {

constexpr std::size_t kRowsAtOnce = 64;  // what the processor's cache holds
constexpr std::uint32_t kColourBits = 0x00FFFFFF;

std::uint64_t hash_of(const std::uint8_t* bytes, std::size_t size, std::uint64_t seed) {
#if defined(__x86_64__)
  return XXH3_64bits_withSeed_dispatch(bytes, size, seed);  // AVX2 where there is some
#else
  return XXH3_64bits_withSeed(bytes, size, seed);
#endif
}

// Whether every pixel has the colour.
bool is_all(const std::uint8_t* bytes, std::size_t size, std::uint32_t colour) {
  std::uint32_t different = 0;
  for (std::size_t at = 0; at < size; at += 4) {
    std::uint32_t pixel = 0;
    std::memcpy(&pixel, bytes + at, sizeof pixel);
    different |= (pixel ^ colour) & kColourBits;
  }
  return different == 0;
}

Status read_at(int file, std::uint8_t* to, std::size_t size, std::size_t offset) {
  while (size > 0) {
    const ssize_t got = ::pread(file, to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno("reading the framebuffer");
    if (got == 0) return Error{Code::unavailable, "the framebuffer is truncated"};
    to += got;
    size -= static_cast<std::size_t>(got);
    offset += static_cast<std::size_t>(got);
  }
  return ok();
}

}  // namespace

Result<FrameDigest> Framebuffer::read(Frame& frame) {
  frame.width = geometry_.width;
  frame.height = geometry_.height;
  frame.pixels.resize(geometry_.bytes());
  const std::size_t piece = geometry_.stride() * kRowsAtOnce;
  FrameDigest look;
  bool root = true;
  bool black = true;
  for (std::size_t at = 0; at < frame.pixels.size(); at += piece) {
    std::uint8_t* to = frame.pixels.data() + at;
    const std::size_t size = std::min(piece, frame.pixels.size() - at);
    if (Status s = read_at(file_.get(), to, size, kPixelsOffset + at); !s)
      return std::move(s.error());
    look.hash = hash_of(to, size, look.hash);
    root = root && is_all(to, size, kRootColour);
    black = black && is_all(to, size, 0);
  }
  if (root) root_seen_ = true;
  look.blank = root || (black && !root_seen_);
  return look;
}

}  // namespace vitrine::display
