// SPDX-License-Identifier: Apache-2.0
// Requests for packages that session code makes while it runs, until somebody answers them.
//
// Sessions know nothing of packages: they put the question here, and the layer that installs packages
// takes it (provision/live_packages.h). The worker waits for
// Session::answer_packages().
//
// Ownership: one per front; it outlives the sessions. Threading: the front's one thread.
// Trust:     the text is the worker's. Their number is bounded by what its session is read at.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "session/condition.h"

namespace vitrine::session {

class Execution;
class Session;

struct PackageQuestion {
  std::shared_ptr<Session> session;
  std::shared_ptr<Execution> execution;
  std::vector<std::string> packages;  // named by untrusted code
};

class PackageQuestions {
 public:
  explicit PackageQuestions(boost::asio::any_io_executor executor)
      : changes_(std::move(executor)) {}

  void ask(PackageQuestion question) {
    waiting_.push_back(std::move(question));
    changes_.notify_all();
  }

  // The oldest, waiting for one if need be.
  boost::asio::awaitable<PackageQuestion> next() {
    while (waiting_.empty()) co_await changes_.wait();
    PackageQuestion first = std::move(waiting_.front());
    waiting_.pop_front();
    co_return first;
  }

 private:
  std::deque<PackageQuestion> waiting_;
  Condition changes_;
};

}  // namespace vitrine::session
