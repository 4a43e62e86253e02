// SPDX-License-Identifier: Apache-2.0
// The read end of a session's stdout or stderr, and whether the front hears of what is written to it.
//
// A pipe that epoll watches wakes its reader at every write, even while the reader rests: a flood would
// take the processor from everybody by its wakings alone. So a pipe that nobody wants to read is not
// watched.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backend/clock.h"
#include "base/fd.h"

namespace vitrine::session {

class OutputPipe {
 public:
  OutputPipe(boost::asio::any_io_executor executor, Fd pipe)
      : pipe_(std::move(pipe)), watch_(std::move(executor), pipe_.get()) {
    watch_.non_blocking(true);
  }
  ~OutputPipe() { close(); }
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;

  // False once it is closed.
  boost::asio::awaitable<bool> readable() {
    boost::system::error_code failed;
    co_await watch_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               boost::asio::redirect_error(boost::asio::use_awaitable, failed));
    co_return !failed && static_cast<bool>(pipe_);
  }

  // Some of what is there, into the beginning of `buffer`, which is made large enough: how much; 0 = there
  // is nothing now. None at its end.
  std::optional<std::size_t> read(std::string& buffer) {
    buffer.resize(kReadSize);
    const ssize_t got = ::read(pipe_.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (got <= 0) return std::nullopt;
    return static_cast<std::size_t>(got);
  }

  // Only what is there now: a child that floods for ever must not hold up the end.
  void drain(const std::function<void(std::string_view)>& take) {
    int left = 0;
    if (::ioctl(pipe_.get(), FIONREAD, &left) != 0 || left <= 0)
      return;  // as after most executions
    std::string buffer(std::min(kReadSize, static_cast<std::size_t>(left)), '\0');
    while (left > 0) {
      const ssize_t got = ::read(pipe_.get(), buffer.data(),
                                 std::min(buffer.size(), static_cast<std::size_t>(left)));
      if (got <= 0) break;
      take(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
      left -= static_cast<int>(got);
    }
  }

  // Lets the writer fill the pipe and wait.
  boost::asio::awaitable<void> look_away(std::chrono::milliseconds time) {
    watch_.release();
    while (pipe_ && !watch_.is_open()) {
      Timer pause(watch_.get_executor(), time);
      boost::system::error_code failed;
      co_await pause.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, failed));
      if (pipe_) watch_.assign(pipe_.get(), failed);  // fails where the kernel lacks memory: again
    }
  }

  void close() {
    if (watch_.is_open()) {
      boost::system::error_code ignored;
      watch_.cancel(ignored);
      watch_.release();
    }
    pipe_.reset();
  }

 private:
  static constexpr std::size_t kReadSize = 64 * 1024;

  Fd pipe_;
  boost::asio::posix::stream_descriptor watch_;  // of the same descriptor; owns nothing
};

}  // namespace vitrine::session
