// SPDX-License-Identifier: Apache-2.0
// One OpenEnv environment: a session that is replaced at every reset, and the episode's counters.
//
// An episode never wedges: a session that died or was ended is replaced at the next step, and the
// step says so. Ownership: whoever serves the client (a socket, a cookie); close() ends the session.
// Threading: the front's one thread.
#pragma once

#include <memory>
#include <string>

#include "api/openenv/judge.h"
#include "api/openenv/messages.h"
#include "service/operations.h"
#include "session/condition.h"

namespace vitrine::api::openenv {

using session::Task;

class Environment : public std::enable_shared_from_this<Environment> {
 public:
  // Until when its session lives: the client's connection ends, or nobody has used it for its idle
  // time.
  enum class Life { connection, idle };

  // Its sessions belong to `owner`, the name of an identity.
  Environment(asio::any_io_executor executor, service::Operations& operations, Judge& judge,
              std::string owner, Life life)
      : executor_(executor),
        operations_(operations),
        judge_(judge),
        owner_(std::move(owner)),
        life_(life),
        changes_(executor) {}

  // Makes the session, so that a client knows at once whether there is room.
  Task<Status> open();
  Task<Result<Observation>> reset(Reset request);
  // The same without making a session before it is needed.
  Observation reset_later(Reset request);
  // The code is interrupted when the client leaves. `patience` = how long the client waits, if it has
  // said so.
  Task<Result<Observation>> step(Action action, std::optional<double> patience,
                                 service::Client& client);
  // Ends the session, without waiting for it.
  void close();

  const State& state() const { return state_; }
  // Its client had another that no longer exists: the next step says so.
  void replaces_another() { lost_ = true; }
  // Nothing of it exists any more: nobody used it for a long time.
  bool is_over() const { return session_ && session_->is_ended(); }
  bool has_session() const { return session_ || making_; }

 private:
  bool is_usable() const { return session_ && session_->is_usable(); }
  service::SessionRef let_go();
  // One at a time: requests of a client without a socket may come together.
  Task<Status> make_session();
  Task<Result<service::SessionRef>> create();
  Observation begin();

  asio::any_io_executor executor_;
  service::Operations& operations_;
  Judge& judge_;
  std::string owner_;
  Life life_;
  service::SessionRef session_;
  session::Session::Attachment attached_;  // while the client's connection lasts
  Reset wishes_;
  State state_;
  bool lost_ = false;  // variables, and the client does not know
  bool told_ = false;  // the client knows that the session is dead
  bool making_ = false;
  session::Condition changes_;
};

// What an episode asks for, and ADDITIONAL_IMPORTS, as packages of its session.
void add_packages(const Reset& wishes, service::SessionRequest& request);

// A random UUID, as OpenEnv names episodes.
std::string new_episode();

}  // namespace vitrine::api::openenv
