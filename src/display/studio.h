// SPDX-License-Identifier: Apache-2.0
// Where pictures are made: a few threads beside the front's one, which must not wait for them.
//
// Threading: develop() is called on the front's thread and comes back to it.
#pragma once

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "display/encode.h"
#include "display/framebuffer.h"

namespace vitrine::display {

namespace asio = boost::asio;
template <class T>
using Task = asio::awaitable<T>;

// What is done to a frame before it is encoded, in this order.
struct Finish {
  std::optional<Region> cursor;  // its tip is at x, y
  std::optional<Region> region;  // one that clipped() gave
  double scale = 1;
  Format format = Format::png;
};

class Studio {
 public:
  explicit Studio(std::size_t threads = 2) : pool_(threads) {}

  Task<Result<std::string>> develop(Frame frame, Finish finish);

  // Room for frames of so many bytes, held until it is gone. All that is held is bounded; who would
  // take more than that alone waits until nobody holds any.
  class Room;
  Task<std::shared_ptr<Room>> make_room(std::size_t bytes);

 private:
  friend class Looker;
  asio::thread_pool pool_;
  int lookers_ = 0;
  std::shared_ptr<std::size_t> held_ = std::make_shared<std::size_t>(0);
};

class Studio::Room {
 public:
  Room(std::shared_ptr<std::size_t> all, std::size_t bytes) : all_(std::move(all)), bytes_(bytes) {
    *all_ += bytes_;
  }
  ~Room() { *all_ -= bytes_; }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

 private:
  std::shared_ptr<std::size_t> all_;
  std::size_t bytes_;
};

// Who looks at a screen again and again, on the thread that serves everybody. However many they are,
// together they leave most of its time to others; looks at large screens are the ones that are felt.
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
