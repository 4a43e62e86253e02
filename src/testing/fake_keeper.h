// SPDX-License-Identifier: Apache-2.0
// The other end of KeeperLink's socket: a keeper that does what the test's script says.
//
// Without a script it is a good keeper: every Create, Reset and Attach is answered with the descriptors
// of a FakeWorker, everything else with the plainest answer there is. on<R>() replaces the answer to one
// kind of request, late<R>() keeps answers back, wrong_reply<R>() sends one of another kind, die() hangs
// up. It answers in serve(), which Front (testing/front.h) calls in turn with the io_context.
//
// Ownership: the test's. Threading: the test's; nothing here waits.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <typeindex>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "testing/fake_worker.h"
#include "wire/control.h"

namespace vitrine::testing {

class FakeKeeper {
 public:
  struct Answer {
    wire::Reply reply;
    std::vector<Fd> fds = {};
  };

  FakeKeeper();

  // The front's end of the socket; once.
  Fd front_end() { return std::move(front_end_); }

  // From here on this is what such requests are answered with.
  template <class R>
  void on(std::function<Answer(const R&)> answer) {
    script_[typeid(R)] = [answer = std::move(answer)](const wire::Request& request) {
      return answer(std::get<R>(request));
    };
  }
  template <class R>
  void refuse(Error error) {
    on<R>([error = std::move(error)](const R&) { return Answer{error}; });
  }
  template <class R>
  void wrong_reply() {
    on<R>([](const R&) { return Answer{wire::Used{}}; });
  }
  // Answers to such requests are kept until release().
  template <class R>
  void late() {
    late_[typeid(R)] = true;
  }
  void release();

  // Hangs up: no request is answered any more.
  void die() { socket_.reset(); }
  void tell(const wire::Event& event);
  // What the kernel would say of a worker that ended.
  void worker_died(std::uint64_t session, Death death);

  // Reads and answers what is there. False if there was nothing.
  bool serve();

  // What was asked so far, in order.
  const std::vector<wire::Request>& requests() const { return requests_; }
  template <class R>
  std::vector<R> asked() const {
    std::vector<R> found;
    for (const wire::Request& one : requests_)
      if (const R* request = std::get_if<R>(&one)) found.push_back(*request);
    return found;
  }
  template <class R>
  std::size_t count() const {
    return asked<R>().size();
  }

  // The worker that a session of this number has now; a new one for a number without.
  FakeWorker& worker(std::uint64_t session);
  FakeWorker& new_worker(std::uint64_t session);
  // Of the session that was made last.
  std::uint64_t last_session() const { return last_session_; }
  FakeWorker& last_worker() { return worker(last_session_); }

  // Opened, with the descriptors of this session's worker.
  Answer opened(std::uint64_t session);

 private:
  Answer answer_to(const wire::Request& request);
  void send(std::uint32_t number, Answer answer);

  Fd socket_;
  Fd front_end_;
  std::map<std::type_index, std::function<Answer(const wire::Request&)>> script_;
  std::map<std::type_index, bool> late_;
  std::deque<std::pair<std::uint32_t, Answer>> kept_;
  std::vector<wire::Request> requests_;
  std::map<std::uint64_t, std::unique_ptr<FakeWorker>> workers_;
  std::uint64_t last_session_ = 0;
};

}  // namespace vitrine::testing
