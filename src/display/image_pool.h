// SPDX-License-Identifier: Apache-2.0
// Where screens are looked at and pictures made: a few threads beside the front's one, which must not
// wait for them.
//
// Threading: everything is called on the front's thread and comes back to it; what was lent to another
//            thread is let go on the front's too. Looks have a thread of their own: none waits for a picture
//            that is being made.
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

#include "display/encode.h"
#include "display/framebuffer.h"

namespace vitrine::display {

namespace asio = boost::asio;
template <class T>
using Task = asio::awaitable<T>;

// What is done to a frame before it is encoded, in this order.
struct ImageOptions {
  std::optional<Region> window;  // inside the frame; all that follows is inside of it
  std::optional<Region> cursor;  // its tip is at x, y
  std::optional<Region> region;  // one that clipped() gave
  double scale = 1;
  Format format = Format::png;
};

// One look at a screen.
struct Snapshot {
  using Clock = std::chrono::steady_clock;
  Result<FrameDigest> digest = Error{Code::internal, "the screen was not read"};
  Frame frame = {};
  Clock::time_point at = {};  // when it was read
  Clock::duration cost = {};  // of reading it
};

// Work on larger frames takes milliseconds: not for the front's own thread.
inline constexpr std::size_t kLargeFrame = 4u << 20;

class ImagePool {
 public:
  explicit ImagePool(std::size_t threads = 2) : encode_pool_(threads), read_pool_(1) {}

  Task<Result<std::string>> encode(std::shared_ptr<const Frame> frame, ImageOptions options);

  enum class Keep { frame, nothing };
  // Looks, into `frame`: one that was used before saves the memory's being asked for again.
  Task<Snapshot> read_screen(std::shared_ptr<Framebuffer> screen, Frame frame,
                             Keep keep = Keep::frame);
  // A screen on which nothing is.
  Task<Frame> blank(Geometry geometry);
  // What `work`, which owns all that it touches, returns when it is done beside the front's thread.
  template <class Work>
  Task<std::invoke_result_t<Work&>> run(Work work) {
    return on(read_pool_, std::move(work));
  }

  // Reservation for frames of so many bytes, held until it is gone. All that is held is bounded; who would
  // take more than that alone waits until nobody holds any. First come, first served.
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
    if (!job->result) throw boost::system::system_error(ignored);  // nobody waits any more
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

// Who looks at a screen again and again. However many they are, together they leave most of the
// machine's time to others; looks at large screens are the ones that are felt.
class ReadBudget {
 public:
  using Duration = std::chrono::steady_clock::duration;

  explicit ReadBudget(std::shared_ptr<ImagePool> pool) : pool_(std::move(pool)) {
    ++pool_->readers_;
  }
  ~ReadBudget() { --pool_->readers_; }
  ReadBudget(const ReadBudget&) = delete;
  ReadBudget& operator=(const ReadBudget&) = delete;

  // The least until the next look, after one that took so long.
  Duration pause_after(Duration cost) const {
    const int others = pool_->readers_ - 1;
    const int share = cost > std::chrono::milliseconds(2) ? 16 : 4;
    return std::max(least_pause(cost), share * others * cost);
  }

 private:
  std::shared_ptr<ImagePool> pool_;
};

}  // namespace vitrine::display
