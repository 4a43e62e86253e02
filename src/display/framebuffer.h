// SPDX-License-Identifier: Apache-2.0
// The pixels of a live X server, read from its framebuffer file.
//
// Ownership: owns its descriptor, which only reads. Threading: any, several at once.
// Trust:     the X server belongs to the session: it may write anything at any moment, and truncate
//            the file. The file is therefore read and never mapped, at offsets that follow from the
//            geometry alone; a short file is an error.
#pragma once

#include <atomic>
#include <chrono>

#include "backend/clock.h"
#include "base/fd.h"
#include "display/frame.h"

namespace vitrine::display {

// What a read found.
struct FrameDigest {
  std::uint64_t hash = 0;  // of all pixels: equal hashes mean equal screens
  bool blank = false;      // nothing but the background
};

// The shortest pause after a read that took `cost`. Reads use CPU time that others need, and a large
// screen costs milliseconds.
inline Clock::duration least_pause(Clock::duration cost) { return 8 * cost; }

class Framebuffer {
 public:
  Framebuffer(Fd file, Geometry geometry) : file_(std::move(file)), geometry_(geometry) {}

  const Geometry& geometry() const { return geometry_; }
  int file() const { return file_.get(); }  // for readers in another process

  // Reads all pixels into `frame`. `unavailable` if the file is too short. A read may see a half
  // painted frame: only two equal digests in a row mean a whole one.
  Result<FrameDigest> read(Frame& frame);

 private:
  Fd file_;
  Geometry geometry_;
  std::atomic<bool> root_seen_ = false;  // before the root window is painted, everything is black
};

}  // namespace vitrine::display
