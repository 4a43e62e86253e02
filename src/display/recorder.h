// SPDX-License-Identifier: Apache-2.0
// The front's end of an encoder's socket: one recording, src/wire/encoder.h.
//
// Ownership: shared by its recording and the coroutines that wait for it. On destruction the encoder
//            finishes its file and exits. When the front is killed, the encoder goes on, and the next
//            front adopts it.
// Threading: the front's one thread.
// Trust:     the encoder reads pixels chosen by a session. Its answers are decoded with bounds checks.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>

#include "backend/clock.h"
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
  // `encoder`: its number in the keeper.
  Recorder(asio::any_io_executor executor, Fd socket, std::uint64_t encoder);
  ~Recorder() { close(); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Starts an encoder that records this display into the empty file. Read its first answer by next().
  static Task<Result<std::shared_ptr<Recorder>>> start(asio::any_io_executor executor,
                                                       backend::KeeperLink& keeper,
                                                       std::uint64_t session,
                                                       std::shared_ptr<View> view, const Fd& film,
                                                       RecordingOptions options);

  // Takes over an encoder that a previous front started. `not_found` if it ended long ago.
  static Task<Result<std::shared_ptr<Recorder>>> adopt(asio::any_io_executor executor,
                                                       backend::KeeperLink& keeper,
                                                       std::uint64_t encoder);
  std::uint64_t encoder() const { return encoder_; }

  // The next answer. `timed_out` without one, `unavailable` once the encoder is gone,
  // `invalid_argument` for an answer that breaks the protocol. One caller at a time.
  Task<Result<wire::encoder::Reply>> next(std::chrono::milliseconds timeout);
  // Asks the encoder to stop. Its last answer is Stopped; next() returns `timed_out` if that is late.
  void stop(std::chrono::milliseconds timeout);
  void close();

 private:
  asio::posix::stream_descriptor socket_;
  Timer timer_;  // of next()
  std::uint64_t encoder_;
};

}  // namespace vitrine::display
