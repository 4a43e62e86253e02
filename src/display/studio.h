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
struct Finish {
  std::optional<Region> window;  // inside the frame; all that follows is inside of it
  std::optional<Region> cursor;  // its tip is at x, y
  std::optional<Region> region;  // one that clipped() gave
  double scale = 1;
  Format format = Format::png;
};

// One look at a screen.
struct Seen {
  using Clock = std::chrono::steady_clock;
  Result<Look> look = Error{Code::internal, "nobody looked"};
  Frame frame = {};
  Clock::time_point at = {};  // when it was read
  Clock::duration cost = {};  // of reading it
};

// Work on larger frames takes milliseconds: not for the front's own thread.
inline constexpr std::size_t kLargeLook = 4u << 20;

class Studio {
 public:
  explicit Studio(std::size_t threads = 2) : pool_(threads), eyes_(1) {}

  Task<Result<std::string>> develop(std::shared_ptr<const Frame> frame, Finish finish);

  enum class Keep { frame, nothing };
  // Looks, into `frame`: one that was used before saves the memory's being asked for again.
  Task<Seen> look(std::shared_ptr<Framebuffer> screen, Frame frame, Keep keep = Keep::frame);
  // A screen on which nothing is.
  Task<Frame> blank(Geometry geometry);
  // What `work`, which owns all that it touches, returns when it is done beside the front's thread.
  template <class Work>
  Task<std::invoke_result_t<Work&>> aside(Work work) {
    return on(eyes_, std::move(work));
  }

  // Room for frames of so many bytes, held until it is gone. All that is held is bounded; who would
  // take more than that alone waits until nobody holds any. First come, first served.
  class Room;
  Task<std::shared_ptr<Room>> make_room(std::size_t bytes);

 private:
  friend class Looker;
  struct Rooms;

  template <class Work>
  static Task<std::invoke_result_t<Work&>> on(asio::thread_pool& pool, Work work) {
    using boost::system::error_code;
    struct Desk {
      Desk(Work what, const asio::any_io_executor& home) : work(std::move(what)), bell(home, 1) {}
      Work work;
      std::optional<std::invoke_result_t<Work&>> done;
      std::exception_ptr failed;
      asio::experimental::channel<void(error_code)> bell;
    };
    const asio::any_io_executor home = co_await asio::this_coro::executor;
    const auto desk = std::make_shared<Desk>(std::move(work), home);
    asio::post(pool, [lent = desk, home]() mutable {
      try {
        lent->done.emplace(lent->work());
      } catch (...) {
        lent->failed = std::current_exception();
      }
      asio::post(home, [back = std::move(lent)] { back->bell.try_send(error_code{}); });
    });
    error_code ignored;
    co_await desk->bell.async_receive(asio::redirect_error(asio::use_awaitable, ignored));
    if (desk->failed) std::rethrow_exception(desk->failed);
    if (!desk->done) throw boost::system::system_error(ignored);  // nobody waits any more
    co_return std::move(*desk->done);
  }

  asio::thread_pool pool_;
  asio::thread_pool eyes_;
  int lookers_ = 0;
  std::shared_ptr<Rooms> rooms_;
};

class Studio::Room {
 public:
  Room(std::shared_ptr<Rooms> all, std::size_t bytes);
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

 private:
  std::shared_ptr<Rooms> all_;
  std::size_t bytes_;
};

// Who looks at a screen again and again. However many they are, together they leave most of the
// machine's time to others; looks at large screens are the ones that are felt.
class Looker {
 public:
  using Duration = std::chrono::steady_clock::duration;

  explicit Looker(std::shared_ptr<Studio> studio) : studio_(std::move(studio)) {
    ++studio_->lookers_;
  }
  ~Looker() { --studio_->lookers_; }
  Looker(const Looker&) = delete;
  Looker& operator=(const Looker&) = delete;

  // The least until the next look, after one that took so long.
  Duration pause_after(Duration cost) const {
    const int others = studio_->lookers_ - 1;
    const int share = cost > std::chrono::milliseconds(2) ? 16 : 4;
    return std::max(thrifty(cost), share * others * cost);
  }

 private:
  std::shared_ptr<Studio> studio_;
};

}  // namespace vitrine::display
