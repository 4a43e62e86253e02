// SPDX-License-Identifier: Apache-2.0
// One recording, from Start to Stopped.
//
// The screen is read on a constant time grid. A frame is encoded, with the grid's timestamp, if it
// differs from the previous one or a second has passed, so that the file is never far behind. The last
// frame is encoded again at the end, so that the video is as long as the recording.
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
  // `control` is not owned; the descriptors received through it are.
  explicit Recorder(int control) : control_(control) {}

  // Waits for Start, records, sends Stopped. Returns the exit status of the process.
  int run();

 private:
  struct End {
    wire::encoder::Reason reason = wire::encoder::Reason::asked;
    std::string detail;
  };

  std::optional<End> prepare();
  End record();
  // Encodes the frame of this tick. Returns an End if the recording is over.
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
  std::int64_t tick_ = 0;  // on the grid, from 0
  std::int64_t encoded_tick_ = -1;
  std::uint64_t encoded_hash_ = 0;
};

}  // namespace vitrine::encoder
