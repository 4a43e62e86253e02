// SPDX-License-Identifier: Apache-2.0
#include "encoder/source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "model/geometry.h"

namespace vitrine::encoder {

namespace {

std::uint32_t even(std::uint32_t side) { return (side + 1) & ~1u; }

}  // namespace

Source::Source(int file, const wire::encoder::Start& where) : file_(file), where_(where) {
  raw_.resize(std::size_t{where.stride} * (where.height - 1) + std::size_t{where.width} * 4);
  frame_.width = static_cast<int>(even(where.width));
  frame_.height = static_cast<int>(even(where.height));
  frame_.pixels.resize(static_cast<std::size_t>(frame_.stride()) *
                       static_cast<std::size_t>(frame_.height));
}

Status Source::read() {
  for (std::size_t done = 0; done < raw_.size();) {
    const ssize_t got = ::pread(file_, raw_.data() + done, raw_.size() - done,
                                static_cast<off_t>(where_.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno("reading the screen");
    if (got == 0) return Error{Code::unavailable, "the screen is gone"};
    done += static_cast<std::size_t>(got);
  }
  if (!painted_) show_root_instead_of_nothing();
  hash_ = XXH3_64bits(raw_.data(), raw_.size());
  const std::size_t row = std::size_t{where_.width} * 4;
  const auto stride = static_cast<std::size_t>(frame_.stride());
  for (std::size_t y = 0; y < where_.height; ++y) {
    std::uint8_t* out = frame_.pixels.data() + y * stride;
    std::memcpy(out, raw_.data() + y * where_.stride, row);
    if (stride > row) std::memcpy(out + row, out + row - 4, 4);
  }
  if (even(where_.height) > where_.height)
    std::memcpy(frame_.pixels.data() + where_.height * stride,
                frame_.pixels.data() + (where_.height - 1) * stride, stride);
  return ok();
}

void Source::show_root_instead_of_nothing() {
  painted_ = std::any_of(raw_.begin(), raw_.end(), [](std::uint8_t byte) { return byte != 0; });
  if (painted_) return;
  for (std::size_t at = 0; at + 4 <= raw_.size(); at += 4)
    std::memcpy(raw_.data() + at, &kRootColour, 4);  // little endian, as the screen's pixels are
}

}  // namespace vitrine::encoder
