// SPDX-License-Identifier: Apache-2.0
// The framebuffer file, one frame at a time.
//
// Trust: a session chooses the pixels, and its X server may truncate the file at any moment. Only
// pread() is used, at offsets computed from the geometry in Start.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fd.h"
#include "wire/encoder.h"

namespace vitrine::encoder {

// Rows of four-byte pixels, blue first. Width and height are even, as video codecs require: of an odd
// screen the last column or row is duplicated.
struct Frame {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;

  int stride() const { return width * 4; }
};

class Source {
 public:
  Source(int file, const wire::encoder::Start& where);

  // Reads the screen. `unavailable` if the file is too short. A server that has just started may be
  // black for a moment: those pixels are read as the root window's colour.
  Status read();
  const Frame& frame() const { return frame_; }
  // A hash of the frame.
  std::uint64_t hash() const { return hash_; }

 private:
  void show_root_instead_of_nothing();

  int file_;
  wire::encoder::Start where_;
  std::vector<std::uint8_t> raw_;  // the file's bytes
  Frame frame_;
  std::uint64_t hash_ = 0;
  bool painted_ = false;  // a pixel was not black
};

}  // namespace vitrine::encoder
