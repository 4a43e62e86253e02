// SPDX-License-Identifier: Apache-2.0
// What is seen of one execution: the picture at its end and the pictures on the way, as its request
// asks for them. Each is added to the execution when it is there; while any() an execution that is
// over is not concluded yet.
//
// Ownership: the execution's; the coroutines that take the pictures hold both.
// Threading: the front's one thread.
#pragma once

#include <memory>

#include "session/capture.h"
#include "session/execution.h"
#include "session/filmstrip.h"

namespace vitrine::session {

class ExecutionCaptures {
 public:
  struct Place {
    display::Screen& screen;
    std::shared_ptr<display::ImagePool> image_pool;
    std::uint64_t keeper_id = 0;
    Geometry geometry;
  };
  ExecutionCaptures(asio::any_io_executor executor, const Place& place,
                    const std::shared_ptr<Execution>& execution, CaptureHooks hooks);

  bool any() const { return capture_ || strip_; }  // that are still being taken

  // Each once, if the request asks for it.
  Task<Pictured> take_picture(std::shared_ptr<Execution> execution);
  Task<void> take_strip(std::shared_ptr<Execution> execution);

  // What happens meanwhile. painted(): false if no picture is being taken, so that nobody waits.
  bool painted();
  void ended(Capture::Worker worker);
  void display_changed();

 private:
  std::shared_ptr<Capture> capture_;
  std::shared_ptr<Filmstrip> strip_;
};

}  // namespace vitrine::session
