// SPDX-License-Identifier: Apache-2.0
#include "session/registry.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <boost/json.hpp>
#include <map>

#include "backend/clock.h"
#include "backend/spawn.h"
#include "packages/requirements.h"
#include "session/stamps.h"

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

Error not_found() {
  return Error{.code = Code::not_found,
               .message = "there is no such session",
               .remedy = "create a session with POST /v1/sessions"};
}

}  // namespace

Registry::Registry(asio::any_io_executor executor, backend::KeeperLink& keeper, store::Store& store,
                   std::function<std::string(const ExecRecord&)> to_json)
    : executor_(executor), keeper_(keeper), store_(store), history_(store, std::move(to_json)) {}

Journal Registry::journal() {
  return {[this](const std::string& owner) -> Status {
            if (auto refusal = accounts_.refuses_execution(owner)) return to_error(*refusal);
            accounts_.execution_begins(owner);
            return ok();
          },
          [this](Execution& execution) { history_.begun(execution, keep(execution)); },
          [this](Execution& execution) { ended(execution); },
          [this](const std::string& session, const NetworkEntry& entry) {
            ++counters_.network[static_cast<std::size_t>(entry.decision)];
            if (on_decided) on_decided(session, entry);
          },
          [this](const Pictured& picture) {
            if (on_picture) on_picture(picture);
          },
          [this](std::shared_ptr<Session> session, std::shared_ptr<Execution> execution,
                 std::vector<std::string> packages) {
            if (on_wish) return on_wish(session, execution, std::move(packages));
            session->answer_packages(*execution,
                                     {.code = "packages_off",
                                      .detail = "this server installs no packages",
                                      .remedy = "do without, or with what `%pip list` shows"});
          }};
}

// The history of a one-shot could never be asked for: its session is gone with the answer.
History::Keep Registry::keep(const Execution& execution) const {
  auto found = sessions_.find(execution.record.session);
  return found == sessions_.end() || is_stored(found->second->spec) ? History::Keep::yes
                                                                    : History::Keep::no;
}

void Registry::ended(Execution& execution) {
  ++counters_.outcomes[static_cast<std::size_t>(execution.record.outcome)];
  history_.ended(execution, keep(execution));
  if (on_finished) on_finished(execution.record);
}

namespace {

bool belongs_to(const Session& session, const Identity& asks) {
  return session.spec.lifetime == Lifetime::session &&
         (asks.sees_all || session.spec.owner == asks.name);
}

// The one execution of a one-shot counts, so its creation does not.
Accounts::Rate rate_of(const SessionSpec& spec) {
  return spec.lifetime == Lifetime::session ? Accounts::Rate::counts : Accounts::Rate::is_free;
}

}  // namespace

std::optional<Refusal> Registry::refuses(const SessionSpec& spec) {
  auto refusal = accounts_.refuses_session(spec.owner, spec.limits, rate_of(spec));
  if (!refusal && spec.lifetime == Lifetime::one_shot)
    refusal = accounts_.refuses_execution(spec.owner);
  return refusal;
}

// What one identity's code ran in is not given to another's, even emptied.
Lifetime Registry::lifetime_at_keeper(const SessionSpec& spec) const {
  const bool foreign = spec.lifetime == Lifetime::one_shot && spec.owner != recycling_owner_;
  return foreign ? Lifetime::session : spec.lifetime;
}

std::shared_ptr<display::ImagePool> Registry::image_pool() {
  if (!image_pool_) image_pool_ = std::make_shared<display::ImagePool>();
  return image_pool_;
}

Task<Status> Registry::provide(SessionSpec* spec) {
  const bool wants = spec->additional || !spec->packages.empty() || !spec->imports.empty();
  if (!provider || !wants || spec->provided) co_return ok();
  co_return co_await provider(spec);
}

Status Registry::check_environment(const std::string& name) const {
  const std::vector<std::string>& known = environments();
  if (name.empty() || std::ranges::find(known, name) != known.end()) return ok();
  return Error{.code = Code::invalid_argument,
               .message = "there is no environment " + packages::quoted(name),
               .remedy = "choose one of: " + boost::algorithm::join(known, ", ") +
                         (known.empty() ? "default" : ", default")};
}

Task<Result<std::shared_ptr<Session>>> Registry::create(SessionSpec spec) {
  if (Status known = check_environment(spec.environment); !known)
    co_return std::move(known.error());
  const bool internal = spec.lifetime == Lifetime::service;
  // Its modules are in its loaded interpreter; the bare one is for layers that come first.
  if (!spec.environment.empty() && spec.variant == Variant::bare && !spec.layer_first && !internal)
    spec.variant = Variant::loaded;
  if (auto refusal = refuses(spec)) co_return to_error(*refusal);
  if (spec.network && !network_for_sessions && !internal)
    co_return Error{.code = Code::invalid_argument,
                    .message = "this server gives no network to sessions",
                    .remedy = "leave network out, or let the operator start it with --egress on"};
  Status provided = co_await provide(&spec);
  if (!provided) co_return std::move(provided.error());
  // Again: others may have come while packages were installed.
  if (auto refusal = refuses(spec)) co_return to_error(*refusal);
  // Counted before it exists: others may ask meanwhile.
  const std::string owner = spec.owner;
  const Limits limits = spec.limits;
  accounts_.session_begins(owner, limits, rate_of(spec));
  Result<std::shared_ptr<Session>> made = co_await open(std::move(spec));
  if (!made) accounts_.session_ends(owner, limits);
  co_return made;
}

// A layer whose files are gone is told of, so that whoever asks next gets it built again.
Error Registry::layer_error(const std::string& layer, Error error) {
  if (error.code != Code::not_found) return error;
  if (!on_layer_lost || !on_layer_lost(layer)) return error;
  return Error{.code = Code::unavailable,
               .message = "the session's packages were removed from the server's disk",
               .remedy = "try again: they are installed anew"};
}

Task<Result<std::shared_ptr<Session>>> Registry::open(SessionSpec spec) {
  const wire::Request request = wire::Create{.variant = spec.variant,
                                             .lifetime = lifetime_at_keeper(spec),
                                             .limits = spec.limits,
                                             .network = spec.network,
                                             .display = spec.display,
                                             .environment = spec.environment,
                                             .policy = spec.policy};
  backend::KeeperReply reply = co_await keeper_.call(request);
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::Opened> opened = backend::expect<wire::Opened>(std::move(reply));
  if (!opened) {
    ++counters_.refused;
    co_return std::move(opened.error());
  }
  std::optional<Lines> lines = take_lines(std::move(fds), opened->fds, outside_of(spec));
  if (!lines) co_return Error{Code::internal, "the keeper sent no lines"};
  if (!spec.layer.empty()) {
    const wire::Request add = wire::AddLayer{opened->session, spec.layer};
    backend::KeeperReply added = co_await keeper_.call(add);
    Result<wire::Done> done = backend::expect<wire::Done>(std::move(added));
    if (!done) {
      keeper_.post(wire::End{opened->session});
      co_return layer_error(spec.layer, std::move(done.error()));
    }
  }
  auto session = std::make_shared<Session>(executor_, keeper_, journal(), image_pool(), new_id(),
                                           std::move(spec));
  session->created_at = now_rfc3339();
  session->notes = session->spec.package_notes;
  session->connect(opened->session, std::move(*lines), Session::Line::fresh);
  const bool kept = is_stored(session->spec);
  if (kept)
    if (Status s = store_.put_session({.id = session->id,
                                       .engine = opened->session,
                                       .keeper = instance_,
                                       .spec = spec_to_json(session->spec),
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
  session->spec.layer_hold.reset();  // from here layers_in_use() names it
  by_engine_[opened->session] = session;
  if (auto early = early_deaths_.extract(opened->session)) session->died(early.mapped());
  co_return session;
}

Task<Status> Registry::reset(std::shared_ptr<Session> session, Files files) {
  if (session->ended) co_return not_found();
  if (session->busy()) session->died(Death{.cause = Cause::killed, .code = 9});
  session->disconnect();
  session->screen.forget();
  if (on_display_ended) on_display_ended(session->id, "");
  backend::KeeperReply reply = co_await keeper_.call(wire::Reset{session->engine, files});
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::Opened> opened = backend::expect<wire::Opened>(std::move(reply));
  if (!opened) {
    session->death = Death{.cause = Cause::killed, .code = 9};
    co_return std::move(opened.error());
  }
  std::optional<Lines> lines = take_lines(std::move(fds), opened->fds, outside_of(session->spec));
  if (session->ended || !lines) co_return not_found();
  early_deaths_.erase(opened->session);
  session->notes.clear();
  if (!session->spec.lost_env.empty())
    session->notes.push_back(
        "the server was restarted since and stores no values of env: not set are " +
        boost::algorithm::join(session->spec.lost_env, ", "));
  session->frozen = false;
  session->connect(opened->session, std::move(*lines), Session::Line::fresh);
  session->touch();
  co_return store_.set_session_engine(session->id, opened->session);
}

Task<Status> Registry::add_layer(std::shared_ptr<Session> session, std::string layer) {
  if (session->ended || session->death) co_return not_found();
  const wire::Request add = wire::AddLayer{session->engine, layer};
  backend::KeeperReply reply = co_await keeper_.call(add);
  Result<wire::Done> done = backend::expect<wire::Done>(std::move(reply));
  if (!done) co_return layer_error(layer, std::move(done.error()));
  session->spec.layer = std::move(layer);
  if (session->ended || !is_stored(session->spec)) co_return ok();
  co_return store_.put_session({.id = session->id,
                                .engine = session->engine,
                                .keeper = instance_,
                                .spec = spec_to_json(session->spec),
                                .created_at = session->created_at,
                                .state = "ready",
                                .cause = ""});
}

std::size_t Registry::count() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      sessions_, [](const auto& one) { return one.second->spec.lifetime != Lifetime::service; }));
}

std::set<std::string> Registry::layers_in_use() const {
  std::set<std::string> used;
  for (const auto& [id, session] : sessions_)
    if (!session->spec.layer.empty()) used.insert(session->spec.layer);
  return used;
}

Task<Status> Registry::end(std::shared_ptr<Session> session) {
  if (session->ended) co_return not_found();
  session->ended = true;
  accounts_.session_ends(session->spec.owner, session->spec.limits);
  sessions_.erase(session->id);
  by_engine_.erase(session->engine);
  if (session->busy()) session->died(Death{.cause = Cause::killed, .code = 9});
  session->disconnect();
  backend::KeeperReply reply = co_await keeper_.call(wire::End{session->engine});
  ++counters_.ended;
  if (is_stored(session->spec)) (void)store_.set_session_state(session->id, "ended", "");
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
    if (auto found = by_engine_.find(late->session); found != by_engine_.end())
      found->second->deadline_passed(late->execution);
    return;
  }
  if (const auto* started = std::get_if<wire::DisplayStarted>(&event)) {
    if (auto found = by_engine_.find(started->session); found != by_engine_.end())
      found->second->display_started();
    return;
  }
  if (const auto* ended = std::get_if<wire::DisplayDied>(&event)) {
    if (auto found = by_engine_.find(ended->session); found != by_engine_.end()) {
      found->second->display_died(ended->detail);
      if (on_display_ended) on_display_ended(found->second->id, ended->detail);
    }
    return;
  }
  const auto& died = std::get<wire::Died>(event);
  ++counters_.deaths;
  auto found = by_engine_.find(died.session);
  if (found == by_engine_.end()) {  // its creation is on the way to us
    if (early_deaths_.size() > 4096) early_deaths_.clear();
    early_deaths_[died.session] = died.death;
    return;
  }
  std::shared_ptr<Session> session = found->second;
  session->died(died.death);
  if (is_stored(session->spec))
    (void)store_.set_session_state(session->id, "dead", death_json(died.death));
}

void Registry::wake(Session& session) {
  if (session.frozen) keeper_.post(wire::Freeze{session.engine, false});
  session.frozen = false;
  session.touch();
}

void Registry::rest_idle() {
  (void)store_.settle();  // what fails now is tried again
  const auto now = Clock::now();
  std::vector<std::shared_ptr<Session>> over;
  for (auto& [id, session] : sessions_) {
    if (session->busy() || session->attached > 0) {
      session->touch();
      continue;
    }
    const auto idle = now - session->last_used;
    if (idle > session->spec.limits.idle_time) over.push_back(session);
    else if (idle > session->spec.limits.idle_time / kFreezeFraction && !session->frozen &&
             !session->death) {
      session->frozen = true;
      keeper_.post(wire::Freeze{session->engine, true});
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
  auto session = std::make_shared<Session>(executor_, keeper_, journal(), image_pool(), row.id,
                                           spec_from_json(row.spec));
  session->created_at = row.created_at;
  session->engine = row.engine;
  accounts_.session_begins(session->spec.owner, session->spec.limits, Accounts::Rate::is_free);
  sessions_[row.id] = session;
  by_engine_[row.engine] = session;
  Result<std::optional<store::ExecRow>> running = store_.running_execution(row.id);
  if (!running) co_return std::move(running.error());
  session->restore(*running, found.execution);
  if (found.death) {
    session->died(*found.death);
    co_return store_.set_session_state(row.id, "dead", death_json(*found.death));
  }
  backend::KeeperReply reply = co_await keeper_.call(wire::Attach{row.engine});
  std::vector<Fd> fds = std::move(reply.fds);
  Result<wire::Opened> opened = backend::expect<wire::Opened>(std::move(reply));
  if (session->death) co_return ok();  // while we were asking
  std::optional<Lines> lines;
  if (opened) lines = take_lines(std::move(fds), opened->fds, outside_of(session->spec));
  if (!lines) {
    session->died(Death{.cause = Cause::killed, .code = 9});
    co_return ok();
  }
  // It continues, to tell us what we missed; then it goes on resting where it was.
  if (found.frozen) session->last_used -= session->spec.limits.idle_time / kFreezeFraction;
  session->deadline_passed(opened->overdue);
  session->connect(row.engine, std::move(*lines), Session::Line::adopted);
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
    const auto found = alive.extract(row.engine);
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
