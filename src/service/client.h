// SPDX-License-Identifier: Apache-2.0
// The client of one request, as far as the door has to know it: that it may leave, and that it may want
// to see how far an installation is. Each protocol implements it on its connection.
//
// Ownership: the adapter's; it outlives the call that it is given to. Threading: the front's one thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <string>

namespace vitrine::service {

template <class T>
using Task = boost::asio::awaitable<T>;

class Client {
 public:
  virtual ~Client() = default;

  // Returns when it has left.
  virtual Task<void> gone() = 0;

  virtual bool wants_progress() const { return false; }
  // False once it has left.
  virtual Task<bool> progress(std::string /*text*/) { co_return true; }
};

// Of what the server does for itself: nobody leaves.
class NoClient final : public Client {
 public:
  Task<void> gone() override {
    boost::asio::steady_timer never(co_await boost::asio::this_coro::executor,
                                    boost::asio::steady_timer::time_point::max());
    co_await never.async_wait(boost::asio::use_awaitable);
  }
};

}  // namespace vitrine::service
