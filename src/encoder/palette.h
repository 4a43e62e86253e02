// SPDX-License-Identifier: Apache-2.0
// Reduces an image to 256 colours. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vitrine::encoder {

struct Paletted {
  std::array<std::uint32_t, 256> colours{};  // 0xFFRRGGBB
  std::vector<std::uint8_t> pixels;          // one byte each
};

// From four-byte pixels, blue first. Exact for up to 255 colours that differ in their upper five bits;
// otherwise the most frequent colours are kept and the others become the nearest of them.
Paletted make_palette(std::span<const std::uint8_t> bgrx);

}  // namespace vitrine::encoder
