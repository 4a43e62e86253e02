// SPDX-License-Identifier: Apache-2.0
// The pixels of a live X server, read from its framebuffer file.
//
// Ownership: owns its descriptor, which only reads. Threading: any, several at once.
// Trust:     the server belongs to the session: it may write anything, at any moment, and cut the
//            file short. So it is read and never mapped, at places that follow from the geometry
//            alone; what is missing is an error.
#pragma once

#include <atomic>
#include <chrono>

#include "base/fd.h"
#include "display/frame.h"

namespace vitrine::display {

// What one look at the screen told.
struct FrameDigest {
  std::uint64_t hash = 0;  // of all pixels: equal ones are equal screens
  bool blank = false;      // nothing but the background
};

// The least pause after a look that took `cost`: looking takes time of the machine that serves
// everybody, and a large screen costs milliseconds.
inline std::chrono::steady_clock::duration least_pause(std::chrono::steady_clock::duration cost) {
  return 8 * cost;
}

class Framebuffer {
 public:
  Framebuffer(Fd file, Geometry geometry) : file_(std::move(file)), geometry_(geometry) {}

  const Geometry& geometry() const { return geometry_; }
  int file() const { return file_.get(); }  // for those who read it in another process

  // Reads everything into `frame` and says what it is. `unavailable` if the file is too short.
  // A frame that is being painted may be read half: two equal looks in a row are a whole one.
  Result<FrameDigest> read(Frame& frame);

 private:
  Fd file_;
  Geometry geometry_;
  std::atomic<bool> root_seen_ = false;  // before the root window is painted, everything is black
};

}  // namespace vitrine::display
