// SPDX-License-Identifier: Apache-2.0
// What tests of one session stand on: a fake keeper, and a worker that does what each test says.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "session/session.h"
#include "testing/front.h"

namespace vitrine::session {

using vitrine::testing::FakeWorker;

inline constexpr std::uint64_t kNumber = 7;  // at the keeper

// The code of executions, as they begin and end.
struct Codes final : ExecutionObserver {
  void begun(Execution& one) override { all_begun.push_back(one.record.code); }
  void ended(Execution& one) override { all_ended.push_back(one.record.code); }
  std::vector<std::string> all_begun;
  std::vector<std::string> all_ended;
};

// One session on a fake keeper and a fake worker. The worker does what each test says.
class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    front.listen([](const wire::Event&) {});
  }

  std::shared_ptr<Session> make(SessionSpec spec = {}) {
    spec.owner = "alice";
    const SessionContext context{.executor = front.context.get_executor(),
                                 .keeper = front.link,
                                 .accounts = accounts,
                                 .observer = observer,
                                 .package_questions = questions,
                                 .image_pool = nullptr};
    return std::make_shared<Session>(context, "s1", "2026-11-16T12:00:00.000Z", std::move(spec));
  }
  std::shared_ptr<Session> connected(SessionSpec spec = {}) {
    auto session = make(std::move(spec));
    connect(*session, Session::Origin::fresh);
    return session;
  }
  void connect(Session& session, Session::Origin origin) {
    std::optional<WorkerFds> fds =
        take_worker_fds(worker.descriptors(), FakeWorker::roles(), Outside::sealed);
    session.connect(kNumber, std::move(*fds), origin);
    front.settle();
  }
  std::shared_ptr<Execution> execute(Session& session, const std::string& code) {
    Result<std::shared_ptr<Execution>> started = session.execute({.code = code});
    front.settle();
    return started ? *started : nullptr;
  }
  static store::ExecRow running(std::uint64_t number, const std::string& code) {
    return {.id = "e1", .session = "s1", .number = number, .code = code, .state = "running"};
  }

  vitrine::testing::Front front;
  FakeWorker worker;
  Accounts accounts;
  PackageQuestions questions{front.context.get_executor()};
  Codes observer;
  std::vector<std::string>& begun = observer.all_begun;
  std::vector<std::string>& ended = observer.all_ended;
};

}  // namespace vitrine::session
