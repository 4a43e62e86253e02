// SPDX-License-Identifier: Apache-2.0
// The front's end of the screen helper's socket: windows, input, screenshots of windows.
//
// Ownership: one per X server; shared by the coroutines that wait for its answers.
// Threading: the front's one thread.
// Trust:     the helper runs beside code that may control its X server. Its answers are decoded with
//            bounds checks, late or unknown answers are dropped, and a helper that breaks the
//            protocol is disconnected.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "backend/clock.h"
#include "base/fd.h"
#include "wire/screen.h"

namespace vitrine::display {

namespace asio = boost::asio;
template <class T>
using Task = asio::awaitable<T>;

struct HelperReply {
  wire::screen::Reply reply;
  Fd file = {};  // sent with Captured
};

class Helper : public std::enable_shared_from_this<Helper> {
 public:
  Helper(asio::any_io_executor executor, Fd socket);
  void start();  // starts reading; call once
  void close();

  // Whether the helper was killed and restarted since the last call.
  bool take_restart() { return std::exchange(restarted_, false); }

  // `timed_out` without an answer, `unavailable` once the helper is gone.
  Task<Result<HelperReply>> ask(wire::screen::Request request, std::chrono::milliseconds timeout);

 private:
  struct Waiting {
    explicit Waiting(asio::any_io_executor executor) : timer(std::move(executor)) {}
    Timer timer;
    std::optional<HelperReply> reply;
    bool lost = false;  // the helper that had the request was replaced
  };
  Task<void> read();
  bool is_readable();
  bool take_one();
  void forget_all();

  asio::any_io_executor executor_;
  asio::posix::stream_descriptor socket_;
  std::uint32_t last_number_;
  bool gone_ = false;
  bool restarted_ = false;
  std::unordered_map<std::uint32_t, std::shared_ptr<Waiting>> waiting_;
};

}  // namespace vitrine::display
