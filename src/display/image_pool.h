// SPDX-License-Identifier: Apache-2.0
// Worker threads that read framebuffers and encode images, so that the front's thread never waits.
//
// Threading: every member is called on the front's thread and resumes there. Objects moved into a job
//            are destroyed on the front's thread too. Reads have a thread of their own, so that none
//            queues behind an encoder.
#pragma once

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "backend/clock.h"
#include "display/encode.h"
#include "display/framebuffer.h"

namespace vitrine::display {

namespace asio = boost::asio;
template <class T>
using Task = asio::awaitable<T>;

// The operations on a frame before it is encoded, in this order.
struct ImageOptions {
  std::optional<Region> window;  // inside the frame; the rest is relative to it
  std::optional<Region> cursor;  // the tip of the arrow is at x, y
  std::optional<Region> region;  // one that clipped() gave
  double scale = 1;
  Format format = Format::png;
};

// One read of a screen.
struct Snapshot {
  Result<FrameDigest> digest = Error{Code::internal, "the screen was not read"};
  Frame frame = {};
  Clock::time_point began = {};  // the read: what was painted before is in it
  Clock::time_point at = {};     // when it had been read
  Clock::duration cost = {};  // processor time of the read, which a busy machine does not stretch
};

// Larger frames take milliseconds to read: too long for the front's own thread.
inline constexpr std::size_t kLargeFrame = 4u << 20;

class ImagePool {
 public:
  explicit ImagePool(std::size_t threads = 2) : encode_pool_(threads), read_pool_(1) {}

  Task<Result<std::string>> encode(std::shared_ptr<const Frame> frame, ImageOptions options);

  enum class Keep { frame, nothing };
  // Reads the screen into `frame`. Passing a frame that was used before saves an allocation.
  Task<Snapshot> read_screen(std::shared_ptr<Framebuffer> screen, Frame frame,
                             Keep keep = Keep::frame);
  // A screen without windows.
  Task<Frame> blank(Geometry geometry);
  // Runs `work` on the read thread and returns its result. `work` must own everything it touches.
  template <class Work>
  Task<std::invoke_result_t<Work&>> run(Work work) {
    return on(read_pool_, std::move(work));
  }

  // Reserves memory for frames until the reservation is destroyed. The sum of all reservations is
  // bounded; a request above that bound waits until it is the only one. First come, first served.
  class Reservation;
  Task<std::shared_ptr<Reservation>> reserve(std::size_t bytes);

 private:
  friend class ReadBudget;
  struct MemoryBudget;

  template <class Work>
  static Task<std::invoke_result_t<Work&>> on(asio::thread_pool& pool, Work work) {
    using boost::system::error_code;
    struct Job {
      Job(Work what, const asio::any_io_executor& home) : work(std::move(what)), done(home, 1) {}
      Work work;
      std::optional<std::invoke_result_t<Work&>> result;
      std::exception_ptr failed;
      asio::experimental::channel<void(error_code)> done;
    };
    const asio::any_io_executor home = co_await asio::this_coro::executor;
    const auto job = std::make_shared<Job>(std::move(work), home);
    asio::post(pool, [lent = job, home]() mutable {
      try {
        lent->result.emplace(lent->work());
      } catch (...) {
        lent->failed = std::current_exception();
      }
      asio::post(home, [back = std::move(lent)] { back->done.try_send(error_code{}); });
    });
    error_code ignored;
    co_await job->done.async_receive(asio::redirect_error(asio::use_awaitable, ignored));
    if (job->failed) std::rethrow_exception(job->failed);
    if (!job->result) throw boost::system::system_error(ignored);  // the caller was cancelled
    co_return std::move(*job->result);
  }

  asio::thread_pool encode_pool_;
  asio::thread_pool read_pool_;
  int readers_ = 0;
  std::shared_ptr<MemoryBudget> memory_;
};

class ImagePool::Reservation {
 public:
  Reservation(std::shared_ptr<MemoryBudget> budget, std::size_t bytes);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

 private:
  std::shared_ptr<MemoryBudget> budget_;
  std::size_t bytes_;
};

// The pace of one client that reads a screen repeatedly. All of them together use a small share of
// the CPU, however many there are. Large screens count more, because only they are noticed.
class ReadBudget {
 public:
  using Duration = Clock::duration;

  explicit ReadBudget(std::shared_ptr<ImagePool> pool) : pool_(std::move(pool)) {
    ++pool_->readers_;
  }
  ~ReadBudget() { --pool_->readers_; }
  ReadBudget(const ReadBudget&) = delete;
  ReadBudget& operator=(const ReadBudget&) = delete;

  // The shortest pause before the next read, after one that took `cost`.
  Duration pause_after(Duration cost) const {
    const int others = pool_->readers_ - 1;
    const int share = cost > std::chrono::milliseconds(2) ? 16 : 4;
    return std::max(least_pause(cost), share * others * cost);
  }

 private:
  std::shared_ptr<ImagePool> pool_;
};

}  // namespace vitrine::display
