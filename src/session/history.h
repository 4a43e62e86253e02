// SPDX-License-Identifier: Apache-2.0
// What the store knows of executions: that one began, written before its code is sent, and how it ended,
// written before anybody is told. What cannot be stored is said in a note of the execution.
#pragma once

#include <functional>
#include <string>

#include "session/execution.h"
#include "session/observer.h"
#include "store/store.h"

namespace vitrine::session {

class History final : public ExecutionObserver {
 public:
  History(store::Store& store, std::function<std::string(const ExecRecord&)> to_json)
      : store_(store), to_json_(std::move(to_json)) {}

  // An execution that is not stored only gets its id and its time.
  void begun(Execution& execution) override;
  void ended(Execution& execution) override;

 private:
  store::Store& store_;
  std::function<std::string(const ExecRecord&)> to_json_;
};

}  // namespace vitrine::session
