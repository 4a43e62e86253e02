// SPDX-License-Identifier: Apache-2.0
// The size of a session's screen, and where its pixels lie in the X server's framebuffer file.
//
// The file is written by a server that session code can corrupt, so nothing in it is ever parsed:
// offset and length follow from the size that we chose.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace vitrine {

struct Geometry {
  std::uint32_t width = 1024;
  std::uint32_t height = 768;

  // `invalid_argument` naming the bounds.
  Status validate() const;

  std::size_t stride() const { return std::size_t{width} * 4; }
  std::size_t bytes() const { return stride() * height; }

  bool operator==(const Geometry&) const = default;
};

inline constexpr std::uint32_t kLeastScreen = 64;
inline constexpr std::uint32_t kMostScreen = 4096;

// An XWD header with the host's name (160 bytes), then 256 colours of 12 bytes.
inline constexpr std::size_t kPixelsOffset = 160 + 256 * 12;

// What the screen helper paints the root window with: a screen of this colour alone is blank.
inline constexpr std::uint32_t kRootColour = 0x20242b;

// The number that programs find in DISPLAY.
inline constexpr int kDisplayNumber = 99;

}  // namespace vitrine
