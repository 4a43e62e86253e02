// SPDX-License-Identifier: Apache-2.0
// What the store knows of executions: that one began, written before its code is sent, and how it ended,
// written before anybody is told. What cannot be stored is said in a note of the execution.
#pragma once

#include <functional>
#include <string>

#include "session/execution.h"
#include "store/store.h"

namespace vitrine::session {

class History {
 public:
  History(store::Store& store, std::function<std::string(const ExecRecord&)> to_json)
      : store_(store), to_json_(std::move(to_json)) {}

  enum class Keep { yes, no };  // no = it only gets its id and its time
  void begun(Execution& execution, Keep keep);
  void ended(Execution& execution, Keep keep);

 private:
  store::Store& store_;
  std::function<std::string(const ExecRecord&)> to_json_;
};

}  // namespace vitrine::session
