// SPDX-License-Identifier: Apache-2.0
// All sessions of this server: made, found, reset, ended, taken over after a restart, and put to rest
// when nobody uses them.
//
// Ownership: one per front; it owns every Session. Threading: the front's one thread.
// Ids:       128 random bits; unknown, foreign and deleted ids are the same `not_found`.
// Owners:    a session belongs to the identity that made it, and is found by that one and by those who
//            see all. This is the one place where it is decided.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/isolation.h"
#include "model/keeper_info.h"
#include "session/accounts.h"
#include "session/session.h"
#include "store/store.h"

namespace vitrine::session {

struct Counters {
  std::array<std::uint64_t, 3> sources{};
  std::uint64_t created = 0;
  std::uint64_t ended = 0;
  std::uint64_t refused = 0;  // no capacity
  std::uint64_t idle_ended = 0;
  std::uint64_t deaths = 0;
};

struct RegistryOptions {
  Policy default_policy = Policy::native;  // of sessions whose maker names none
  // Whether sessions get the network they ask for; installations of packages do in any case.
  bool network_for_sessions = true;
};

class Registry {
 public:
  Registry(SessionContext context, store::Store& store, RegistryOptions options);

  // Shells of one-shots are used again for this identity's one-shots only.
  void recycle_for(std::string owner) { recycling_owner_ = std::move(owner); }
  Policy default_policy() const { return options_.default_policy; }

  // What the keeper has; before it is known, nothing can be made.
  struct Offers {
    std::vector<IsolationOffer> isolations;
    std::vector<std::string> environments;  // besides the image alone
  };
  void offer(Offers offers) { offers_ = std::move(offers); }
  // Whether the keeper can make such a session: `unknown_environment`, `isolation_unavailable`,
  // `unsupported_by_isolation`. `needs` is what is asked of it besides what the spec says.
  Status check(const SessionSpec& spec, Capabilities needs = {}) const;

  // Takes over what an earlier front has left, and ends in the store what no longer exists.
  Task<Status> adopt(std::string keeper_instance);

  // `unavailable` also where refuses() says why.
  Task<Result<std::shared_ptr<Session>>> create(SessionSpec spec, Prepared prepared = {});
  // Which quota of its owner stands against it.
  std::optional<Error> refuses(const SessionSpec& spec);
  Task<Status> reset(std::shared_ptr<Session> session, Files files);
  Task<Status> end(std::shared_ptr<Session> session);
  // Null for what is not there, and for what is not theirs. One-shots are nobody's.
  std::shared_ptr<Session> find(const std::string& id, const Identity& asks) const;
  std::vector<std::shared_ptr<Session>> list(const Identity& asks) const;  // oldest first
  std::size_t count() const;  // without the server's own
  std::size_t running() const;
  // The packages of a live session from now on; it keeps them when it is reset. `layer_missing`, here and
  // in create(): the keeper does not find one of the layers.
  Task<Status> set_layers(std::shared_ptr<Session> session, LayerList layers,
                          std::vector<std::string> packages);
  std::set<std::string> layers_in_use() const;

  void on_event(const wire::Event& event);
  // Freezes, then ends, sessions that nobody used for their idle time. Call about once a second.
  void rest_idle();
  // A frozen session continues when it is used again.
  void wake(Session& session);

  const Counters& counters() const { return counters_; }

 private:
  Lifetime lifetime_at_keeper(const SessionSpec& spec) const;
  Task<Result<std::shared_ptr<Session>>> open(SessionSpec spec, Prepared prepared);
  Task<Status> adopt_one(const store::SessionRow& row, const wire::Listed::Entry& found);

  SessionContext context_;
  asio::any_io_executor executor_;
  backend::KeeperLink& keeper_;
  Accounts& accounts_;
  store::Store& store_;
  RegistryOptions options_;
  std::string instance_;
  std::unordered_map<std::string, std::shared_ptr<Session>> sessions_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>> by_keeper_id_;
  std::unordered_map<std::uint64_t, Death> early_deaths_;
  std::string recycling_owner_;
  Offers offers_;
  Counters counters_;
};

}  // namespace vitrine::session
