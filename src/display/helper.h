// SPDX-License-Identifier: Apache-2.0
// The front's end of the screen helper's socket: windows, input, pictures of windows.
//
// Ownership: one per X server; shared by those who wait for its answers. Threading: the front's one.
// Trust:     the helper lives beside code that may have taken over its server: what it says is decoded
//            with care, late or wrong answers are dropped, and a helper that breaks the rules is not
//            listened to any more.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/fd.h"
#include "wire/screen.h"

namespace vitrine::display {

namespace asio = boost::asio;
template <class T>
using Task = asio::awaitable<T>;

struct HelperReply {
  wire::screen::Reply reply;
  Fd file = {};  // comes with Captured
};

class Helper : public std::enable_shared_from_this<Helper> {
 public:
  Helper(asio::any_io_executor executor, Fd socket);
  void start();  // begins to read; once
  void close();

  // Whether it was killed and started again since this was last asked.
  bool take_restart() { return std::exchange(restarted_, false); }

  // `timed_out` if it does not answer, `unavailable` if it is gone.
  Task<Result<HelperReply>> ask(wire::screen::Request request, std::chrono::milliseconds patience);

 private:
  struct Waiting {
    explicit Waiting(asio::any_io_executor executor) : timer(std::move(executor)) {}
    asio::steady_timer timer;
    std::optional<HelperReply> reply;
    bool lost = false;  // with the helper that was asked
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
