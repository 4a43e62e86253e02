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

#include "session/accounts.h"
#include "session/history.h"
#include "session/session.h"
#include "store/store.h"

namespace vitrine::session {

struct Counters {
  std::array<std::uint64_t, 7> outcomes{};
  std::array<std::uint64_t, 3> sources{};
  std::uint64_t created = 0;
  std::uint64_t ended = 0;
  std::uint64_t refused = 0;  // no capacity
  std::uint64_t idle_ended = 0;
  std::uint64_t deaths = 0;
  std::array<std::uint64_t, 3> network{};  // by NetworkDecision
};

class Registry {
 public:
  Registry(asio::any_io_executor executor, backend::KeeperLink& keeper, store::Store& store,
           std::function<std::string(const ExecRecord&)> to_json);

  // Shells of one-shots are used again for this identity's one-shots only.
  void recycle_for(std::string owner) { recycling_owner_ = std::move(owner); }
  // Of sessions whose maker names no policy.
  void default_policy(Policy policy) { default_policy_ = policy; }
  Policy default_policy() const { return default_policy_; }

  // What the keeper has, besides the image alone.
  void environments(std::vector<std::string> names) { environments_ = std::move(names); }
  const std::vector<std::string>& environments() const { return environments_; }
  // `invalid_argument` with the names that exist.
  Status check_environment(const std::string& name) const;

  // Takes over what an earlier front has left, and ends in the store what no longer exists.
  Task<Status> adopt(std::string keeper_instance);

  // `unavailable` also where refuses() says why.
  Task<Result<std::shared_ptr<Session>>> create(SessionSpec spec);
  // Which quota of its owner stands against it.
  std::optional<Refusal> refuses(const SessionSpec& spec);
  Task<Status> reset(std::shared_ptr<Session> session, Files files);
  Task<Status> end(std::shared_ptr<Session> session);
  // Null for what is not there, and for what is not theirs. One-shots are nobody's.
  std::shared_ptr<Session> find(const std::string& id, const Identity& asks) const;
  std::vector<std::shared_ptr<Session>> list(const Identity& asks) const;  // oldest first
  std::size_t count() const;  // without the server's own
  std::size_t running() const;
  // Adds packages to a live session; it keeps them when it is reset.
  Task<Status> add_layer(std::shared_ptr<Session> session, std::string layer);
  std::set<std::string> layers_in_use() const;

  void on_event(const wire::Event& event);
  // Freezes, then ends, sessions that nobody used for their idle time. Call about once a second.
  void rest_idle();
  // A frozen session continues when it is used again.
  void wake(Session& session);

  backend::KeeperLink& keeper() { return keeper_; }
  store::Store& store() { return store_; }
  Accounts& accounts() { return accounts_; }
  const Counters& counters() const { return counters_; }
  // Sees to the packages of a spec that nobody has seen to yet; none = there are no packages.
  std::function<Task<Status>(SessionSpec* spec)> provider;
  // A session cannot have this layer of packages; true if its files are gone.
  std::function<bool(const std::string& layer)> on_layer_lost;
  // Asks it, if there is anything to see to. create() does so too.
  Task<Status> provide(SessionSpec* spec);
  // Whether sessions get the network they ask for; installations of packages do in any case.
  bool network_for_sessions = true;
  // As Journal::wants.
  decltype(Journal::wants) on_wish;
  // Called for every finished execution, for metrics.
  std::function<void(const ExecRecord&)> on_finished;
  // Called for every connection that session code asked for, for the log.
  std::function<void(const std::string& session, const NetworkEntry&)> on_decided;
  // Called for every picture that was taken, or was not.
  std::function<void(const Pictured&)> on_picture;
  // Called when a session has lost its X server; why, or "" = it was reset.
  std::function<void(const std::string& session, const std::string& why)> on_display_ended;
  std::shared_ptr<display::ImagePool> image_pool();

 private:
  Journal journal();
  void ended(Execution& execution);
  History::Keep keep(const Execution& execution) const;
  Lifetime lifetime_at_keeper(const SessionSpec& spec) const;
  Task<Result<std::shared_ptr<Session>>> open(SessionSpec spec);
  Error layer_error(const std::string& layer, Error error);
  Task<Status> adopt_one(const store::SessionRow& row, const wire::Listed::Entry& found);

  asio::any_io_executor executor_;
  backend::KeeperLink& keeper_;
  store::Store& store_;
  History history_;
  std::string instance_;
  std::unordered_map<std::string, std::shared_ptr<Session>> sessions_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>> by_engine_;
  std::unordered_map<std::uint64_t, Death> early_deaths_;
  Accounts accounts_;
  std::shared_ptr<display::ImagePool> image_pool_;  // made when first needed
  std::string recycling_owner_;
  Policy default_policy_ = Policy::native;
  std::vector<std::string> environments_;
  Counters counters_;
};

}  // namespace vitrine::session
