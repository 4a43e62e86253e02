// SPDX-License-Identifier: Apache-2.0
// Semaphore for what only so many may do at once; whoever finds none waits. Counted by key: one for all, or
// one for each session, so that a session stands in nobody's way but its own.
//
// Threading: the front's one thread.
#pragma once

#include <boost/asio/this_coro.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "service/client.h"
#include "session/condition.h"

namespace vitrine::service {

class Semaphore {
  struct Taken {
    std::map<std::string, int> count;
    std::map<std::string, int> waiting;
    std::unique_ptr<session::Condition> changes;
  };

 public:
  // So many of a key at once; so many more may wait for them, the others get none.
  Semaphore(int most, int waiting)
      : taken_(std::make_shared<Taken>()), most_(most), waiting_(waiting) {}

  // Held until it is left, or gone.
  class Place {
   public:
    Place() = default;
    Place(std::shared_ptr<Taken> of, std::string key) : of_(std::move(of)), key_(std::move(key)) {}
    Place(Place&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), key_(std::move(other.key_)) {}
    Place& operator=(Place&& other) noexcept {
      leave();
      of_ = std::exchange(other.of_, nullptr);
      key_ = std::move(other.key_);
      return *this;
    }
    ~Place() { leave(); }

    explicit operator bool() const { return of_ != nullptr; }
    void leave() {
      const std::shared_ptr<Taken> of = std::exchange(of_, nullptr);
      if (!of) return;
      if (--of->count[key_] == 0) of->count.erase(key_);
      of->changes->notify_all();
    }

   private:
    std::shared_ptr<Taken> of_;
    std::string key_;
  };

  Task<Place> take(std::string key) {
    const std::shared_ptr<Taken> taken = taken_;
    const int most = most_;
    if (!taken->changes) {
      auto executor = co_await boost::asio::this_coro::executor;
      taken->changes = std::make_unique<session::Condition>(executor);
    }
    if (taken->count[key] >= most) {
      if (taken->waiting[key] >= waiting_) co_return Place();
      const Waiting waits(taken, key);
      while (taken->count[key] >= most) co_await taken->changes->wait();
    }
    ++taken->count[key];
    Place place(taken, std::move(key));
    co_return place;
  }

 private:
  struct Waiting {
    std::shared_ptr<Taken> of;
    std::string key;
    Waiting(std::shared_ptr<Taken> taken, std::string whose)
        : of(std::move(taken)), key(std::move(whose)) {
      ++of->waiting[key];
    }
    ~Waiting() {
      if (--of->waiting[key] == 0) of->waiting.erase(key);
    }
  };

  std::shared_ptr<Taken> taken_;
  int most_;
  int waiting_;
};

}  // namespace vitrine::service
