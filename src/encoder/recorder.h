// SPDX-License-Identifier: Apache-2.0
// One recording, from Start to Stopped.
//
// The screen is looked at on a constant grid of time; only frames that differ are encoded, with the
// grid's timestamps, and one each second, so that the file on disk is never far behind. The last
// frame is encoded again at the end: the video is as long as the recording was.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "encoder/movie.h"
#include "encoder/source.h"
#include "wire/encoder.h"

namespace vitrine::encoder {

class Recorder {
 public:
  // `control` is looked at, not owned; what comes through it is.
  explicit Recorder(int control) : control_(control) {}

  // Waits for Start, records, says Stopped. What the process is to exit with.
  int run();

 private:
  struct End {
    wire::encoder::Reason reason = wire::encoder::Reason::asked;
    std::string detail;
  };

  std::optional<End> prepare();
  End record();
  // The frame of this tick; an end if there can be no more.
  std::optional<End> sample();
  std::optional<End> add(std::int64_t tick);
  bool asked_to_stop();
  wire::encoder::Progress progress() const;
  void tell(const wire::encoder::Reply& reply);

  int control_;
  Fd screen_;
  Fd output_;
  wire::encoder::Start wish_;
  Fd timer_;
  std::optional<Source> source_;
  std::unique_ptr<Movie> movie_;
  std::int64_t tick_ = 0;  // of the grid, from 0
  std::int64_t encoded_tick_ = -1;
  std::uint64_t encoded_hash_ = 0;
};

}  // namespace vitrine::encoder
