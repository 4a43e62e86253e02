// SPDX-License-Identifier: Apache-2.0
// One life of a front on a directory: store, registry, fake keeper. A second one on the same directory is
// the front after a restart.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "session/history.h"
#include "session/registry.h"
#include "store/store.h"
#include "testing/front.h"

namespace vitrine::testing {

// Of the executions that have ended.
struct Outcomes final : session::ExecutionObserver {
  void ended(session::Execution& execution) override { all.push_back(execution.record.outcome); }
  std::vector<Outcome> all;
};

struct Life {
  explicit Life(const std::string& directory)
      : store(std::move(*store::Store::open(directory, {}))),
        history(store,
                [](const ExecRecord& record) { return "{\"code\":\"" + record.code + "\"}"; }),
        registry({.executor = front.context.get_executor(),
                  .keeper = front.link,
                  .accounts = accounts,
                  .observer = observers,
                  .package_questions = package_questions,
                  .image_pool = nullptr},
                 store, {}) {
    registry.offer({.isolations = {{.isolation = IsolationKind::process,
                                    .capabilities = {Capability::packages, Capability::network}}},
                    .environments = {}});
    front.listen([this](const wire::Event& event) { registry.on_event(event); });
  }

  Result<std::shared_ptr<session::Session>> create(session::SessionSpec spec) {
    return front.run(registry.create(std::move(spec)));
  }
  std::shared_ptr<session::Execution> execute(session::Session& session, const std::string& code) {
    Result<std::shared_ptr<session::Execution>> started = session.execute({.code = code});
    front.settle();
    return *started;
  }
  FakeWorker& worker(const session::Session& session) {
    return front.keeper.worker(session.keeper_id());
  }
  // Time passes, and then the front's second has come.
  void pass(Clock::duration time) {
    front.advance(time);
    registry.rest_idle();
    front.settle();
  }

  Front front;
  store::Store store;
  session::Accounts accounts;
  session::PackageQuestions package_questions{front.context.get_executor()};
  session::History history;
  Outcomes outcomes;
  session::Observers observers{{&history, &outcomes}};
  session::Registry registry;
};

}  // namespace vitrine::testing
