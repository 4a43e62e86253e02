// SPDX-License-Identifier: Apache-2.0
// FairQueue at what only so many may do at once, fair between owners: who has fewest comes first; among
// equals the one whose arrival, or end of a turn, is longest ago; of one owner in the order of asking. One
// who asks for fifty things keeps nobody waiting but itself.
//
// Pure: nobody is woken. When a ticket goes, others may be called: whoever waits looks again.
// Threading: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vitrine::provision {

class FairQueue {
  struct State;

 public:
  explicit FairQueue(std::size_t most) : state_(std::make_shared<State>()) { state_->most = most; }

  // A place among those who wait, and then the turn itself; both end with it. It may outlive FairQueue.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(std::shared_ptr<State> of, std::uint64_t number) : of_(std::move(of)), number_(number) {}
    Ticket(Ticket&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), number_(other.number_) {}
    Ticket& operator=(Ticket&& other) noexcept {
      leave();
      of_ = std::exchange(other.of_, nullptr);
      number_ = other.number_;
      return *this;
    }
    ~Ticket() { leave(); }

    bool is_called() const { return of_ && of_->asked.at(number_).charged; }
    // Somebody else wants the same: it is called when the first of them would be.
    void join(const std::string& owner) {
      if (!of_) return;
      std::vector<std::string>& owners = of_->asked.at(number_).owners;
      if (std::ranges::find(owners, owner) != owners.end()) return;
      owners.push_back(owner);
      of_->arrive(owner);
      of_->call();
    }
    void leave() {
      if (const std::shared_ptr<State> of = std::exchange(of_, nullptr)) of->leave(number_);
    }

   private:
    std::shared_ptr<State> of_;
    std::uint64_t number_ = 0;
  };

  Ticket ask(const std::string& owner) {
    const std::uint64_t number = ++state_->count;
    state_->asked[number].owners.push_back(owner);
    state_->arrive(owner);
    state_->call();
    return Ticket(state_, number);
  }

 private:
  struct Asked {
    std::vector<std::string> owners;     // who want it
    std::optional<std::string> charged;  // whose turn it is; none while it waits
  };
  struct Owner {
    std::size_t has = 0;      // turns
    std::size_t tickets = 0;  // that it waits for, or has
    std::uint64_t since = 0;  // its arrival or the end of its last turn, counted
  };
  struct State {
    std::size_t most = 1;
    std::size_t taken = 0;
    std::uint64_t count = 0;
    std::map<std::uint64_t, Asked> asked;  // in the order of asking
    std::map<std::string, Owner> owners;   // of these, and no others

    void arrive(const std::string& name) {
      Owner& owner = owners[name];
      if (++owner.tickets == 1) owner.since = ++count;
    }
    void leave(std::uint64_t number) {
      const Asked gone = std::move(asked.at(number));
      asked.erase(number);
      if (gone.charged) {
        --taken;
        Owner& owner = owners.at(*gone.charged);
        --owner.has;
        owner.since = ++count;
      }
      for (const std::string& name : gone.owners)
        if (--owners.at(name).tickets == 0) owners.erase(name);
      call();
    }
    void call() {
      while (taken < most) {
        Asked* next = nullptr;
        const std::string* whose = nullptr;
        for (auto& [number, one] : asked) {
          if (one.charged) continue;
          for (const std::string& name : one.owners)
            if (whose == nullptr || comes_before(owners.at(name), owners.at(*whose))) {
              next = &one;
              whose = &name;
            }
        }
        if (next == nullptr) return;
        ++owners.at(*whose).has;
        next->charged = *whose;
        ++taken;
      }
    }
    static bool comes_before(const Owner& a, const Owner& b) {
      return a.has != b.has ? a.has < b.has : a.since < b.since;
    }
  };

  std::shared_ptr<State> state_;
};

}  // namespace vitrine::provision
