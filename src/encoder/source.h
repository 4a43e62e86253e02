// SPDX-License-Identifier: Apache-2.0
// The framebuffer file, one frame at a time.
//
// Trust: a session paints the pixels, and its X server may shorten the file at any moment: only
// pread() is used, at places computed from the geometry that was told.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fd.h"
#include "wire/encoder.h"

namespace vitrine::encoder {

// Rows of four-byte pixels, blue first. Sides are even, as video wants them: where the screen's are
// not, its last column and row are there twice.
struct Frame {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;

  int stride() const { return width * 4; }
};

class Source {
 public:
  Source(int file, const wire::encoder::Start& where);

  // Reads the screen as it is now. `unavailable` if the file is too short. Of a server that has just
  // started it may be black for a moment: a film begins with the colour that the root is about to have.
  Status read();
  const Frame& frame() const { return frame_; }
  // Of the frame: equal frames have equal ones, others almost surely not.
  std::uint64_t hash() const { return hash_; }

 private:
  void show_root_instead_of_nothing();

  int file_;
  wire::encoder::Start where_;
  std::vector<std::uint8_t> raw_;  // as it lies in the file
  Frame frame_;
  std::uint64_t hash_ = 0;
  bool painted_ = false;  // something was seen that is not black
};

}  // namespace vitrine::encoder
