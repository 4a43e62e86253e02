// SPDX-License-Identifier: Apache-2.0
// Something that coroutines wait for: each goes on when notify_all() is called, or at its own time limit.
//
// Waiters look again at what they wait for; a wait may end for nothing. Threading: the front's one
// thread. It must outlive its waiters.
#pragma once

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <vector>

#include "backend/clock.h"

namespace vitrine::session {

class Condition {
 public:
  using Time = Timer::time_point;

  explicit Condition(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  boost::asio::awaitable<void> wait(Time latest = Time::max()) {
    Timer timer(executor_, latest);
    struct Registered {
      std::vector<Timer*>& list;
      Timer* timer;
      ~Registered() { std::erase(list, timer); }
    } registered{waiting_, &timer};
    waiting_.push_back(&timer);
    boost::system::error_code ignored;
    co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }

  void notify_all() {
    for (Timer* timer : waiting_) timer->cancel();
  }

 private:
  boost::asio::any_io_executor executor_;
  std::vector<Timer*> waiting_;  // each on the stack of a coroutine in wait()
};

}  // namespace vitrine::session
