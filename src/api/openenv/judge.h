// SPDX-License-Identifier: Apache-2.0
// Rewards, by rules over what was sent and what came of it: docs/rewards.md.
//
// OpenEnv's own rules are judged here (api/openenv/rules.h) wherever that is possible. Otherwise, and for
// rules of a file, a Python decides (does it parse? does this expression match?): a sealed session of its
// own, which code of users never runs in and cannot reach. What waits is judged together.
// Ownership: one per front. Threading: the front's one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/exchange.h"
#include "api/openenv/rules.h"
#include "service/operations.h"
#include "session/condition.h"

namespace vitrine::api::openenv {

// The Python that judges: reads rules from its input and says what is wrong with them, or "ok".
std::string_view judging_program();

class Judge {
 public:
  // `rules`: JSON as docs/rewards.md says; "" = there are none, and every reward is 0.
  Judge(asio::any_io_executor executor, service::Operations& operations, std::string rules);

  // Whether the rules are good, with the reason if not. Call it once before reward(). Only rules of a
  // file need their session from the beginning.
  session::Task<Status> start();
  // None if there was no judgement in time: nothing can be said about code that breaks the parser
  // itself. `judged` is read before the first wait.
  session::Task<std::optional<double>> reward(const Judged& judged);

 private:
  struct Case {
    std::string json;
    std::optional<double> reward;
    bool done = false;
  };

  session::Task<void> judge_all();
  // False if there was no judgement of any of them.
  session::Task<bool> judge(std::vector<std::shared_ptr<Case>> cases);
  session::Task<Result<std::string>> ask(std::string code, std::string input);
  session::Task<Status> open();

  service::Operations& operations_;
  std::string rules_;
  bool is_openenv_;
  service::SessionRef session_;
  session::Session::Attachment attached_;  // however long nobody is judged
  std::vector<std::shared_ptr<Case>> waiting_;
  session::Condition changes_;
  asio::any_io_executor executor_;
  bool judging_ = false;
};

}  // namespace vitrine::api::openenv
