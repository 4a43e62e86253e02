// SPDX-License-Identifier: Apache-2.0
// The door: everything that a protocol may ask of sessions. Ownership, quotas, packages, waking, waiting
// and interruption are decided here and nowhere above.
//
// An adapter reads a request, calls the door, and writes the answer. Errors carry a reason that each
// protocol maps with its own table (base/result.h).
// Ownership: one per front. Threading: the front's one thread. It outlives its callers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/identity.h"
#include "model/keeper_info.h"
#include "service/client.h"
#include "service/packages.h"
#include "service/run.h"
#include "service/session_ref.h"
#include "session/registry.h"

namespace vitrine::service {

// An execution as the history has it: its record as JSON, once it has finished.
using StoredExecution = store::ExecRow;
struct HistoryPage {
  std::vector<StoredExecution> rows;  // newest first
  std::uint64_t next = 0;             // where the next page begins; 0 = there is none
};

// Where the code of a session is.
struct StackView {
  std::optional<std::string> execution;  // that runs
  std::optional<std::string> text;       // none if it did not answer in time
};

class Operations {
 public:
  Operations(session::Registry& registry, Packages& packages, store::Store& store,
             backend::KeeperLink& keeper)
      : registry_(registry), packages_(packages), store_(store), keeper_(keeper) {}

  // Null for what is not there, and for what is not theirs. Counts as use.
  SessionRef find(const Identity& asks, const std::string& id) const;
  std::vector<SessionRef> list(const Identity& asks) const;  // oldest first
  // How many there are, as far as it is theirs to know.
  std::size_t count(const Identity& asks) const;
  // Whether such a session can be made here; see session::Registry::check().
  Status check(const SessionRequest& request) const;
  Policy default_policy() const { return registry_.default_policy(); }

  // Makes a session with its packages. `client_left` if the client did meanwhile.
  Task<Result<SessionRef>> create(SessionRequest request, Client& client);
  // Gets the packages of a session that is made later; what is to be known of them.
  Task<Result<std::vector<std::string>>> prepare(SessionRequest request, Client& client);
  Task<Status> reset(SessionRef session, Files files);
  Task<Status> end(SessionRef session);
  // Keeps it from being idle while the value lives.
  session::Session::Attachment attach(const SessionRef& session) { return own(session)->attach(); }

  // Queues code in it, and wakes it. `session_dead`, `queue_full`, or a quota.
  Result<Run> execute(const SessionRef& session, ExecRequest request);
  // Both at once, in a session for this alone. End it when the answer is sent.
  Task<Result<Run>> run(SessionRequest request, ExecRequest code, Client& client);
  // Whatever runs in it.
  void interrupt(const SessionRef& session) { own(session)->interrupt(nullptr); }
  Task<Result<StackView>> stack(SessionRef session);

  // Every event of every execution in it: from now on, or after the event with this cursor. Reading it
  // does not slow the code down, and does not keep the session from being idle.
  session::Feed subscribe(const SessionRef& session,
                          std::optional<std::uint64_t> after = std::nullopt) {
    return own(session)->feed(after);
  }

  // `before` is the `next` of the page before; 0 = the newest.
  Result<HistoryPage> history(const SessionRef& session, std::uint64_t before,
                              std::uint32_t limit) const;
  Result<StoredExecution> stored(const SessionRef& session, const std::string& execution) const;

  // The keeper's account of itself.
  Task<Result<KeeperInfo>> keeper_info();

 private:
  session::Registry& registry_;
  Packages& packages_;
  store::Store& store_;
  backend::KeeperLink& keeper_;
};

}  // namespace vitrine::service
