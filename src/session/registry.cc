// SPDX-License-Identifier: Apache-2.0
#include "session/registry.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <boost/json.hpp>
#include <map>

#include "backend/clock.h"
#include "backend/spawn.h"
#include "packages/requirements.h"
#include "session/ids_and_time.h"

namespace vitrine::session {

namespace json = boost::json;

namespace {

// Idle sessions are frozen at half their idle time, and ended at the whole of it.
constexpr int kFreezeFraction = 2;

Outside outside_of(const SessionSpec& spec) {
  return spec.network ? Outside::network : Outside::sealed;
}

std::string death_json(const Death& death) {
  return json::serialize(json::object{{"cause", to_string(death.cause)}, {"code", death.code}});
}

Error layer_error(Error error) {
  if (error.code == Code::not_found) error.reason = "layer_missing";
  return error;
}

Error not_found() {
  return Error{.code = Code::not_found,
               .message = "there is no such session",
               .remedy = "create a session with POST /v1/sessions"};
}

}  // namespace

Registry::Registry(SessionContext context, store::Store& store, RegistryOptions options)
    : context_(std::move(context)),
      executor_(context_.executor),
      keeper_(context_.keeper),
      accounts_(context_.accounts),
      store_(store),
      options_(options) {}

namespace {

bool belongs_to(const Session& session, const Identity& asks) {
  return session.spec().lifetime == Lifetime::session &&
         (asks.sees_all || session.spec().owner == asks.name);
}

// The one execution of a one-shot counts, so its creation does not.
Accounts::Rate rate_of(const SessionSpec& spec) {
  return spec.lifetime == Lifetime::session ? Accounts::Rate::counts : Accounts::Rate::is_free;
}

}  // namespace

std::optional<Error> Registry::refuses(const SessionSpec& spec) {
  auto refusal = accounts_.refuses_session(spec.owner, spec.limits, rate_of(spec));
  if (!refusal && spec.lifetime == Lifetime::one_shot)
    refusal = accounts_.refuses_execution(spec.owner);
  return refusal;
}

// What one identity's code ran in is not given to another's, even emptied.
Lifetime Registry::lifetime_at_keeper(const SessionSpec& spec) const {
  if (spec.lifetime == Lifetime::service) return spec.lifetime;
  const bool is_short = spec.lifetime == Lifetime::one_shot || spec.is_episode;
  return is_short && spec.owner == recycling_owner_ ? Lifetime::one_shot : Lifetime::session;
}

Status Registry::check(const SessionSpec& spec, Capabilities needs) const {
  const std::vector<std::string>& known = offers_.environments;
  if (!spec.environment.empty() && std::ranges::find(known, spec.environment) == known.end())
    return Error{.code = Code::invalid_argument,
                 .message = "there is no environment " + packages::quoted(spec.environment),
                 .remedy = "choose one of: " + boost::algorithm::join(known, ", ") +
                           (known.empty() ? "default" : ", default"),
                 .reason = "unknown_environment"};
  const std::string name(to_string(spec.isolation));
  const auto offer =
      std::ranges::find(offers_.isolations, spec.isolation, &IsolationOffer::isolation);
  if (offer == offers_.isolations.end())
    return Error{.code = Code::unsupported,
                 .message = "this server has no isolation " + packages::quoted(name),
                 .remedy =
                     "use one of those that GET /v1/info lists as `isolations`, or leave "
                     "`isolation` out",
                 .reason = "isolation_unavailable"};
  if (spec.network) needs.add(Capability::network);
  if (!spec.environment.empty()) needs.add(Capability::environments);
  if (!spec.layers.empty()) needs.add(Capability::packages);
  const auto somewhere = [this](Capability one) {
    return std::ranges::any_of(offers_.isolations,
                               [&](const IsolationOffer& it) { return it.capabilities.has(one); });
  };
  if (needs.has(Capability::network) && !somewhere(Capability::network))
    return Error{.code = Code::unsupported,
                 .message = "network: this server lets no session out",
                 .remedy = "leave `network` out; the operator allows it with --egress on",
                 .reason = "unsupported_by_isolation"};
  for (const Capability one : kAllCapabilities)
    if (needs.has(one) && !offer->capabilities.has(one))
      return Error{.code = Code::unsupported,
                   .message = "sessions in the isolation " + packages::quoted(name) + " have no " +
                              std::string(to_string(one)),
                   .remedy =
                       "leave it out, or use an isolation that has it: GET /v1/info lists "
                       "`capabilities`",
                   .reason = "unsupported_by_isolation"};
  return ok();
}

Task<Result<std::shared_ptr<Session>>> Registry::create(SessionSpec spec, Prepared prepared) {
  if (Status possible = check(spec); !possible) co_return std::move(possible.error());
  const bool internal = spec.lifetime == Lifetime::service;
  // Its modules are in its loaded interpreter; the bare one is for layers that come first.
  if (!spec.environment.empty() && spec.variant == Variant::bare && !spec.layer_first && !internal)
    spec.variant = Variant::loaded;
  if (spec.network && !options_.network_for_sessions && !internal)
    co_return Error{
        .code = Code::invalid_argument,
        .message = "this server does not allow sessions a network",
        .remedy = "leave network out, or ask the operator to start it with --egress on"};
  if (auto refusal = refuses(spec)) co_return std::move(*refusal);
  // Counted before it exists: others may ask meanwhile.
  const std::string owner = spec.owner;
  const Limits limits = spec.limits;
  accounts_.session_begins(owner, limits, rate_of(spec));
  Result<std::shared_ptr<Session>> made = co_await open(std::move(spec), std::move(prepared));
  if (!made) accounts_.session_ends(owner, limits);
  co_return made;
}

Task<Result<std::shared_ptr<Session>>> Registry::open(SessionSpec spec, Prepared prepared) {
  const wire::Request request = wire::Create{.variant = spec.variant,
                                             .lifetime = lifetime_at_keeper(spec),
                                             .limits = spec.limits,
                                             .network = spec.network,
                                             .display = spec.display,
                                             .environment = spec.environment,
                                             .policy = spec.policy,
                                             .isolation = spec.isolation,
                                             .layers = spec.layers};
  backend::KeeperReply reply = co_await keeper_.call(request);
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::Opened> opened = backend::expect<wire::Opened>(std::move(reply));
  if (!opened) {
    ++counters_.refused;
    if (spec.layers.empty()) co_return std::move(opened.error());
    co_return layer_error(std::move(opened.error()));
  }
  std::optional<WorkerFds> lines = take_worker_fds(std::move(fds), opened->fds, outside_of(spec));
  if (!lines) co_return Error{Code::internal, "the keeper sent no descriptors of a worker"};
  auto session = std::make_shared<Session>(context_, new_id(), now_rfc3339(), std::move(spec));
  session->notes_ = std::move(prepared.notes);
  session->connect(opened->session, std::move(*lines), Session::Origin::fresh);
  const bool kept = is_stored(session->spec_);
  if (kept)
    if (Status s = store_.put_session({.id = session->id,
                                       .keeper_id = opened->session,
                                       .keeper = instance_,
                                       .spec = spec_to_json(session->spec_),
                                       .created_at = session->created_at,
                                       .state = "ready",
                                       .cause = ""});
        !s) {
      session->disconnect();
      keeper_.post(wire::End{opened->session});
      co_return std::move(s.error());
    }
  ++counters_.created;
  ++counters_.sources[static_cast<std::size_t>(opened->source)];
  sessions_[session->id] = session;
  prepared.layer_hold.reset();  // from here layers_in_use() names them
  by_keeper_id_[opened->session] = session;
  if (auto early = early_deaths_.extract(opened->session)) session->died(early.mapped());
  co_return session;
}

Task<Status> Registry::reset(std::shared_ptr<Session> session, Files files) {
  if (session->ended_) co_return not_found();
  if (session->busy()) session->died(Death{.cause = Cause::killed, .code = 9});
  session->disconnect();
  session->screen_.forget();
  context_.observer.display_ended(session->id, "");
  backend::KeeperReply reply = co_await keeper_.call(wire::Reset{session->keeper_id_, files});
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::Opened> opened = backend::expect<wire::Opened>(std::move(reply));
  if (!opened) {
    session->death_ = Death{.cause = Cause::killed, .code = 9};
    co_return std::move(opened.error());
  }
  std::optional<WorkerFds> lines =
      take_worker_fds(std::move(fds), opened->fds, outside_of(session->spec_));
  if (session->ended_ || !lines) co_return not_found();
  early_deaths_.erase(opened->session);
  session->notes_.clear();
  if (!session->spec_.lost_env.empty())
    session->notes_.push_back(
        "the server was restarted and does not store values of env; these are not set: " +
        boost::algorithm::join(session->spec_.lost_env, ", "));
  session->frozen_ = false;
  session->connect(opened->session, std::move(*lines), Session::Origin::fresh);
  session->touch();
  co_return store_.set_keeper_id(session->id, opened->session);
}

Task<Status> Registry::set_layers(std::shared_ptr<Session> session, LayerList layers,
                                  std::vector<std::string> packages) {
  if (session->ended_ || session->death_) co_return not_found();
  const wire::Request mount = wire::MountLayers{session->keeper_id_, layers};
  backend::KeeperReply reply = co_await keeper_.call(mount);
  Result<wire::Done> done = backend::expect<wire::Done>(std::move(reply));
  if (!done) co_return layer_error(std::move(done.error()));
  session->spec_.layers = std::move(layers);
  session->spec_.packages = std::move(packages);
  if (session->ended_ || !is_stored(session->spec_)) co_return ok();
  co_return store_.put_session({.id = session->id,
                                .keeper_id = session->keeper_id_,
                                .keeper = instance_,
                                .spec = spec_to_json(session->spec_),
                                .created_at = session->created_at,
                                .state = "ready",
                                .cause = ""});
}

std::size_t Registry::count() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      sessions_, [](const auto& one) { return one.second->spec().lifetime != Lifetime::service; }));
}

std::set<std::string> Registry::layers_in_use() const {
  std::set<std::string> used;
  for (const auto& [id, session] : sessions_)
    used.insert(session->spec_.layers.begin(), session->spec_.layers.end());
  return used;
}

Task<Status> Registry::end(std::shared_ptr<Session> session) {
  if (session->ended_) co_return not_found();
  session->ended_ = true;
  accounts_.session_ends(session->spec_.owner, session->spec_.limits);
  sessions_.erase(session->id);
  by_keeper_id_.erase(session->keeper_id_);
  if (session->busy()) session->died(Death{.cause = Cause::killed, .code = 9});
  session->disconnect();
  session->feed_->close();
  backend::KeeperReply reply = co_await keeper_.call(wire::End{session->keeper_id_});
  ++counters_.ended;
  if (is_stored(session->spec_)) (void)store_.set_session_state(session->id, "ended", "");
  Result<wire::Done> done = backend::expect<wire::Done>(std::move(reply));
  if (!done && done.error().code != Code::not_found) co_return std::move(done.error());
  co_return ok();
}

std::shared_ptr<Session> Registry::find(const std::string& id, const Identity& asks) const {
  auto found = sessions_.find(id);
  return found == sessions_.end() || !belongs_to(*found->second, asks) ? nullptr : found->second;
}

std::vector<std::shared_ptr<Session>> Registry::list(const Identity& asks) const {
  std::vector<std::shared_ptr<Session>> all;
  for (const auto& [id, session] : sessions_)
    if (belongs_to(*session, asks)) all.push_back(session);
  std::ranges::sort(all, [](const auto& a, const auto& b) {
    return std::tie(a->created_at, a->id) < std::tie(b->created_at, b->id);
  });
  return all;
}

std::size_t Registry::running() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      sessions_, [](const auto& one) { return one.second->current() != nullptr; }));
}

void Registry::on_event(const wire::Event& event) {
  if (const auto* late = std::get_if<wire::TimedOut>(&event)) {
    if (auto found = by_keeper_id_.find(late->session); found != by_keeper_id_.end())
      found->second->deadline_passed(late->execution);
    return;
  }
  if (const auto* started = std::get_if<wire::DisplayStarted>(&event)) {
    if (auto found = by_keeper_id_.find(started->session); found != by_keeper_id_.end())
      found->second->display_started();
    return;
  }
  if (const auto* ended = std::get_if<wire::DisplayDied>(&event)) {
    if (auto found = by_keeper_id_.find(ended->session); found != by_keeper_id_.end()) {
      found->second->display_died(ended->detail);
      context_.observer.display_ended(found->second->id, ended->detail);
    }
    return;
  }
  const auto& died = std::get<wire::Died>(event);
  ++counters_.deaths;
  auto found = by_keeper_id_.find(died.session);
  if (found == by_keeper_id_.end()) {  // its creation is on the way to us
    if (early_deaths_.size() > 4096) early_deaths_.clear();
    early_deaths_[died.session] = died.death;
    return;
  }
  std::shared_ptr<Session> session = found->second;
  session->died(died.death);
  if (is_stored(session->spec_))
    (void)store_.set_session_state(session->id, "dead", death_json(died.death));
}

void Registry::wake(Session& session) {
  if (session.frozen_) keeper_.post(wire::Freeze{session.keeper_id_, false});
  session.frozen_ = false;
  session.touch();
}

void Registry::rest_idle() {
  (void)store_.settle();  // what fails now is tried again
  const auto now = Clock::now();
  std::vector<std::shared_ptr<Session>> over;
  for (auto& [id, session] : sessions_) {
    if (session->busy() || session->attached_ > 0) {
      session->touch();
      continue;
    }
    const auto idle = now - session->last_used_;
    if (idle > session->spec_.limits.idle_time) over.push_back(session);
    else if (idle > session->spec_.limits.idle_time / kFreezeFraction && !session->frozen_ &&
             !session->death_) {
      session->frozen_ = true;
      keeper_.post(wire::Freeze{session->keeper_id_, true});
    }
  }
  for (auto& session : over) {
    ++counters_.idle_ended;
    spawn(
        executor_,
        [](Registry* self, std::shared_ptr<Session> one) -> Task<void> {
          (void)co_await self->end(one);
        }(this, session),
        "end of an idle session");
  }
}

Task<Status> Registry::adopt_one(const store::SessionRow& row, const wire::Listed::Entry& found) {
  auto session =
      std::make_shared<Session>(context_, row.id, row.created_at, spec_from_json(row.spec));
  accounts_.session_begins(session->spec_.owner, session->spec_.limits, Accounts::Rate::is_free);
  sessions_[row.id] = session;
  by_keeper_id_[row.keeper_id] = session;
  Result<std::optional<store::ExecRow>> running = store_.running_execution(row.id);
  if (!running) co_return std::move(running.error());
  session->restore(row.keeper_id, *running, found.execution);
  if (found.death) {
    session->died(*found.death);
    co_return store_.set_session_state(row.id, "dead", death_json(*found.death));
  }
  backend::KeeperReply reply = co_await keeper_.call(wire::Attach{row.keeper_id});
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::Opened> opened = backend::expect<wire::Opened>(std::move(reply));
  if (session->death_) co_return ok();  // while we were asking
  std::optional<WorkerFds> lines;
  if (opened) lines = take_worker_fds(std::move(fds), opened->fds, outside_of(session->spec_));
  if (!lines) {
    session->died(Death{.cause = Cause::killed, .code = 9});
    co_return ok();
  }
  // It continues, to tell us what we missed; then it goes on resting where it was.
  if (found.frozen) session->last_used_ -= session->spec_.limits.idle_time / kFreezeFraction;
  session->deadline_passed(opened->overdue);
  session->connect(row.keeper_id, std::move(*lines), Session::Origin::adopted);
  co_return ok();
}

Task<Status> Registry::adopt(std::string keeper_instance) {
  instance_ = std::move(keeper_instance);
  if (Status s = store_.end_others(instance_); !s) co_return s;
  std::map<std::uint64_t, wire::Listed::Entry> alive;
  for (bool more = true; more;) {
    const wire::Request request = wire::List{alive.empty() ? 0 : alive.rbegin()->first};
    Result<wire::Listed> page = backend::expect<wire::Listed>(co_await keeper_.call(request));
    if (!page) co_return std::move(page.error());
    for (const wire::Listed::Entry& one : page->sessions) alive[one.session] = one;
    more = page->more && !page->sessions.empty();
  }
  Result<std::vector<store::SessionRow>> rows = store_.sessions_of(instance_);
  if (!rows) co_return std::move(rows.error());
  for (const store::SessionRow& row : *rows) {
    const auto found = alive.extract(row.keeper_id);
    if (!found) {
      (void)store_.set_session_state(row.id, "ended", "");
      continue;
    }
    if (Status s = co_await adopt_one(row, found.mapped()); !s) co_return s;
  }
  // What is left was never acknowledged to anybody.
  for (const auto& [orphan, entry] : alive) keeper_.post(wire::End{orphan});
  co_return ok();
}

}  // namespace vitrine::session
