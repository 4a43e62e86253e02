// SPDX-License-Identifier: Apache-2.0
// Where pictures are made: a few threads beside the front's one, which must not wait for them.
//
// Threading: develop() is called on the front's thread and comes back to it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <optional>
#include <string>

#include "display/encode.h"

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

 private:
  asio::thread_pool pool_;
};

}  // namespace vitrine::display
