// SPDX-License-Identifier: Apache-2.0
// One OpenEnv environment: a session that is replaced at every reset, and the episode's counters.
//
// An episode never wedges: a session that died or was ended is replaced at the next step, and the
// step says so. Ownership: whoever serves the client (a socket, a cookie); close() ends the session.
// Threading: the front's one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/openenv/judge.h"
#include "api/openenv/messages.h"
#include "session/registry.h"

namespace vitrine::api::openenv {

using session::Task;

class Environment : public std::enable_shared_from_this<Environment> {
 public:
  Environment(asio::any_io_executor executor, session::Registry& registry, Judge& judge)
      : executor_(std::move(executor)), registry_(registry), judge_(judge) {}

  // Makes the session, so that a client knows at once whether there is room.
  Task<Status> open();
  Task<Result<Observation>> reset(Reset request);
  // `gone` returns when the client has left: then the code is interrupted. `patience` = how long the
  // client waits, if it has said so.
  Task<Result<Observation>> step(Action action, std::optional<double> patience,
                                 std::function<Task<void>()> gone);
  // Ends the session, without waiting for it.
  void close();

  const State& state() const { return state_; }
  // Nothing of it exists any more: nobody used it for a long time.
  bool is_over() const { return session_ && session_->ended; }

 private:
  Task<Status> make_session();
  std::chrono::milliseconds time_for(const Action& action, std::optional<double> patience) const;

  asio::any_io_executor executor_;
  session::Registry& registry_;
  Judge& judge_;
  std::shared_ptr<session::Session> session_;
  Reset wishes_;
  State state_;
  bool told_ = false;  // the client knows that the session is dead
};

}  // namespace vitrine::api::openenv
