// SPDX-License-Identifier: Apache-2.0
// What the front's code stands on in a unit test: an io_context, a clock that the test moves, a scripted
// keeper and the link to it. No root, no image, no sleeps.
//
// Threading: one thread, the test's; settle() takes turns between the code and the fakes until neither
// has anything left to do.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "backend/keeper_link.h"
#include "backend/spawn.h"
#include "testing/fake_clock.h"
#include "testing/fake_keeper.h"

namespace vitrine::testing {

class Front {
 public:
  Front() : link(context.get_executor(), keeper.front_end()) {}

  // Reads what the keeper says; events go to `on_event`.
  void listen(std::function<void(const wire::Event&)> on_event) {
    spawn(context.get_executor(), link.run(std::move(on_event)), "keeper");
  }

  void settle() {
    do context.restart();
    while (context.poll() + (keeper.serve() ? 1u : 0u) > 0);
  }
  void advance(Clock::duration time) {
    settle();
    clock.advance(time);
    settle();
  }
  // For work that other threads do: looks again until it is done, for as long as a test may last.
  void until(const std::function<bool()>& done,
             Clock::duration step = std::chrono::milliseconds(1)) {
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (settle(); !done(); settle()) {
      if (std::chrono::steady_clock::now() > latest)
        throw std::runtime_error("what the test waits for does not happen");
      context.restart();
      context.run_one_for(std::chrono::milliseconds(1));
      clock.advance(step);
    }
  }

  // A coroutine that the test has started and may look at. Its end is not waited for.
  template <class T>
  class Started {
   public:
    bool is_done() const { return state_->value || state_->failed; }
    T value() {
      if (state_->failed) std::rethrow_exception(state_->failed);
      if (!state_->value) throw std::runtime_error("the coroutine still waits");
      return std::move(*state_->value);
    }

   private:
    friend class Front;
    struct State {
      std::optional<T> value;
      std::exception_ptr failed;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
  };

  template <class T>
  Started<T> start(boost::asio::awaitable<T> task) {
    Started<T> started;
    auto keep = [](boost::asio::awaitable<T> it, auto state) -> boost::asio::awaitable<void> {
      try {
        state->value.emplace(co_await std::move(it));
      } catch (...) {
        state->failed = std::current_exception();
      }
    };
    spawn(context.get_executor(), keep(std::move(task), started.state_), "test");
    settle();
    return started;
  }
  // What it returns, without any time passing. Throws if it waits for something that does not come.
  template <class T>
  T run(boost::asio::awaitable<T> task) {
    return start(std::move(task)).value();
  }

  boost::asio::io_context context{1};
  FakeClock clock{context};
  FakeKeeper keeper;
  backend::KeeperLink link;
};

}  // namespace vitrine::testing
