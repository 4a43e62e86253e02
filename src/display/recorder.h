// SPDX-License-Identifier: Apache-2.0
// The front's end of an encoder's socket: one recording, src/wire/encoder.h.
//
// Ownership: shared by its recording and whoever waits for it. When it goes, the encoder finishes its
//            file and ends; when the front is killed, it goes on, and the next front takes it over.
// Threading: the front's one.
// Trust:     the encoder reads pixels that a session chose: what it says is decoded with care, and
//            one that breaks the rules is not listened to any more.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

#include "display/screen.h"
#include "wire/encoder.h"

namespace vitrine::display {

struct RecordingOptions {
  wire::encoder::Format format = wire::encoder::Format::mp4;
  std::uint32_t fps = 15;
  std::uint32_t max_seconds = 300;
  std::uint64_t max_bytes = 64ull << 20;
};

class Recorder {
 public:
  // `encoder`: what the keeper calls it.
  Recorder(asio::any_io_executor executor, Fd socket, std::uint64_t encoder);
  ~Recorder() { close(); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Has an encoder record this display into the file, which is empty. The first answer is still to come.
  static Task<Result<std::shared_ptr<Recorder>>> start(asio::any_io_executor executor,
                                                       backend::KeeperLink& keeper,
                                                       std::uint64_t session,
                                                       std::shared_ptr<View> view, const Fd& film,
                                                       RecordingOptions options);

  // One that a front before has started. `not_found` if it ended long ago.
  static Task<Result<std::shared_ptr<Recorder>>> adopt(asio::any_io_executor executor,
                                                       backend::KeeperLink& keeper,
                                                       std::uint64_t encoder);
  std::uint64_t encoder() const { return encoder_; }

  // The next answer. `timed_out` if none came, `unavailable` if it is gone, `invalid_argument` for
  // nonsense. One caller at a time.
  Task<Result<wire::encoder::Reply>> next(std::chrono::milliseconds patience);
  // Its last answer will be Stopped; if none comes in time, next() says `timed_out`.
  void stop(std::chrono::milliseconds patience);
  void close();

 private:
  asio::posix::stream_descriptor socket_;
  asio::steady_timer timer_;  // of next()
  std::uint64_t encoder_;
};

}  // namespace vitrine::display
