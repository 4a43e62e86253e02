// SPDX-License-Identifier: Apache-2.0
// One execution as the client that asked for it follows it: to its end, or event by event. A client that
// leaves interrupts the code, unless its request says that it goes on.
//
// Ownership: the adapter's; it keeps the session from being idle while it lives.
// Threading: the front's one thread. One coroutine at a time waits on it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "service/client.h"
#include "service/session_ref.h"
#include "session/session.h"

namespace vitrine::service {

class Run {
 public:
  Run(std::shared_ptr<session::Session> session, std::shared_ptr<session::Execution> execution);
  Run(Run&&) noexcept = default;
  Run& operator=(Run&&) = delete;
  ~Run() = default;

  // True when it has finished, false as soon as the client has left.
  Task<bool> finished(Client& client);
  // The next event, waiting for it; none after the last, and once the client has left.
  // A client that reads slowly slows the code down from its first call on.
  Task<std::optional<session::Event>> next(Client& client);
  // Its client can be written to no more: has_left() from here on.
  void client_left();
  bool has_left() const { return left_; }
  // Whatever its client does.
  Task<void> ended();

  SessionRef session() const { return session_; }
  const session::Execution& execution() const { return *execution_; }
  const ExecRecord& record() const { return execution_->record; }
  // The text of the last statement's value; of one that has finished.
  Task<std::string> value();
  void add_note(std::string text) { execution_->add_note(std::move(text)); }
  void answer_input(std::optional<std::string> line) {
    session_->answer_input(*execution_, std::move(line));
  }

 private:
  bool interrupts() const;

  std::shared_ptr<session::Session> session_;
  std::shared_ptr<session::Execution> execution_;
  session::Session::Attachment attached_;
  std::unique_ptr<session::EventLog::Reader> reader_;  // once it is followed
  bool left_ = false;
};

}  // namespace vitrine::service
