// SPDX-License-Identifier: Apache-2.0
#include "keeper/sessions.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::milliseconds kGrace{1'000};            // from the interrupt to the kill
constexpr std::uint64_t kLongestWatch = 24ull * 3600 * 1000;  // milliseconds

constexpr std::size_t kMaxServices = 16;  // sessions of the server's own, beside the capacity

Error no_such_session() {
  return Error{.code = Code::not_found,
               .message = "there is no such session",
               .remedy = "create a session first"};
}

SandboxSpec spec_of(const wire::Create& request) {
  return {.variant = request.variant,
          .lifetime = request.lifetime,
          .limits = request.limits,
          .network = request.network,
          .display = request.display,
          .environment = request.environment,
          .layers = request.layers,
          .policy = request.policy};
}

}  // namespace

struct Sessions::Session final : SandboxObserver {
  Session(Sessions& of, std::uint64_t number, std::uint64_t whose, Isolation& in, SandboxSpec what)
      : sessions(of), isolation(in), id(number), owner(whose), spec(std::move(what)) {}

  void died(Death of_worker) override { sessions.worker_died(*this, of_worker); }
  void display_started() override { sessions.owners_.notify(owner, wire::DisplayStarted{id}); }
  void display_died(const std::string& detail) override {
    sessions.owners_.notify(owner, wire::DisplayDied{id, detail});
  }

  Sessions& sessions;
  Isolation& isolation;
  std::uint64_t id;
  std::uint64_t owner;
  SandboxSpec spec;                       // with its packages, which it has after a reset too
  std::unique_ptr<Sandbox> sandbox = {};  // null while it is being made
  std::optional<Death> death = {};
  std::optional<Cause> killing = {};  // why we are about to kill its worker
  std::uint64_t watched = 0;          // execution
  std::uint64_t overdue = 0;          // execution whose time was up
  TimerId deadline = 0;
  bool frozen = false;     // everything inside is stopped
  bool announced = false;  // a client was told its number
  Done after_fill = {};    // it is to be ended as soon as it is made
  bool layering = false;   // packages are being added: its sandbox stays
  Done after_layers = {};  // it is to be ended as soon as they are
};

Sessions::Sessions(Loop& loop, Isolations isolations, std::uint32_t capacity, SessionOwners& owners)
    : loop_(loop), isolations_(std::move(isolations)), capacity_(capacity), owners_(owners) {}

Sessions::~Sessions() = default;

Sessions::Session* Sessions::find(std::uint64_t id) {
  auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

Result<Sessions::Session*> Sessions::find_live(std::uint64_t id) {
  Session* session = find(id);
  if (session == nullptr) return no_such_session();
  if (!session->sandbox || session->death) {
    std::string why = session->death ? ": " + std::string(to_string(session->death->cause)) + " " +
                                           std::to_string(session->death->code)
                                     : "";
    return Error{.code = Code::unavailable,
                 .message = "the session is dead" + why,
                 .remedy = "reset or end it"};
  }
  return session;
}

void Sessions::create(const wire::Create& request, std::uint64_t owner, Opened opened) {
  if (Status valid = request.limits.validate(); !valid) return opened(std::move(valid.error()));
  const auto isolation = isolations_.find(request.isolation);
  if (isolation == isolations_.end())
    return opened(Error{.code = Code::unsupported,
                        .message = "this server does not have the isolation `" +
                                   std::string(to_string(request.isolation)) + "`",
                        .remedy = "GET /v1/info names those it has, under `isolations`"});
  const SandboxSpec spec = spec_of(request);
  if (Status possible = isolation->second->check(spec); !possible)
    return opened(std::move(possible.error()));
  if (Status valid = request.display.validate(); !valid) return opened(std::move(valid.error()));
  const bool service = request.lifetime == Lifetime::service;
  if (stopping_ || (service ? services_ >= kMaxServices : count() >= capacity_))
    return opened(
        Error{.code = Code::unavailable,
              .message = stopping_ ? "the keeper is stopping" : "the server is at its capacity",
              .remedy = "try again later, or end a session"});
  if (service) ++services_;
  const std::uint64_t id = ++last_id_;
  auto session = std::make_unique<Session>(*this, id, owner, *isolation->second, spec);
  Session& made = *session;
  sessions_[id] = std::move(session);
  fill(made, std::move(opened));
}

// Gives a session that has none a sandbox.
void Sessions::fill(Session& session, Opened opened) {
  session.isolation.take(
      session.spec, session,
      [this, id = session.id, opened = std::move(opened)](Result<Isolation::Taken> taken) {
        filled(id, std::move(taken), opened);
      });
}

// A client that left before it was told the number cannot be missing the session.
bool Sessions::is_unwanted(const Session& session) const {
  const bool unknown = !session.announced && !owners_.connected(session.owner);
  return session.after_fill || stopping_ || unknown;
}

// A session without a sandbox is never ended otherwise, so it is still there.
void Sessions::filled(std::uint64_t id, Result<Isolation::Taken> taken, const Opened& opened) {
  Session& session = *sessions_.at(id);
  if (taken && !is_unwanted(session)) {
    attach_worker(session, std::move(taken->sandbox));
    session.announced = true;
    return opened(wire::Opened{id, taken->source});
  }
  const auto gone = [done = std::move(session.after_fill)] {
    if (done) done(ok());
  };
  Isolation& isolation = session.isolation;
  forget(id);
  if (!taken) {
    opened(std::move(taken.error()));
    return gone();
  }
  opened(Error{Code::unavailable, "the session was ended meanwhile"});
  isolation.give_back(std::move(taken->sandbox), gone);
}

void Sessions::attach_worker(Session& session, std::unique_ptr<Sandbox> sandbox) {
  session.frozen = false;
  session.death.reset();
  session.killing.reset();
  session.watched = 0;
  session.sandbox = std::move(sandbox);
}

void Sessions::reset(const wire::Reset& request, std::uint64_t owner, Opened opened) {
  Session* session = find(request.session);
  if (session == nullptr) return opened(no_such_session());
  if (!session->sandbox || session->after_fill)
    return opened(Error{Code::conflict, "the session is being made or reset already"});
  if (session->layering) return opened(Error{Code::conflict, "packages are being added to it"});
  if (request.files == Files::keep && !session->isolation.can_refresh(*session->sandbox))
    return opened(Error{.code = Code::unsupported,
                        .message = "the files cannot be kept on this host or after this death",
                        .remedy = "reset without keeping the files"});
  session->owner = owner;
  stop_deadline(*session);
  std::unique_ptr<Sandbox> old = std::move(session->sandbox);
  if (request.files == Files::wipe) {
    session->isolation.give_back(std::move(old), {});
    return fill(*session, std::move(opened));
  }
  session->isolation.refresh(std::move(old), [this, id = session->id, opened = std::move(opened)](
                                                 Result<Isolation::Taken> taken) {
    filled(id, std::move(taken), opened);
  });
}

Result<wire::Opened> Sessions::attach(std::uint64_t id, std::uint64_t owner) {
  Result<Session*> session = find_live(id);
  if (!session) return std::move(session.error());
  (*session)->owner = owner;
  thaw(**session);  // it is about to be asked for what its new owner missed
  return wire::Opened{id, Source::warm, (*session)->overdue};
}

void Sessions::end(std::uint64_t id, Done done) {
  Session* session = find(id);
  if (session == nullptr) return done(no_such_session());
  if (!session->sandbox) {  // being made: end it as soon as it is
    if (session->after_fill) return done(Error{Code::conflict, "the session is being ended"});
    session->after_fill = std::move(done);
    return;
  }
  if (session->layering) {  // a moment only
    if (session->after_layers) return done(Error{Code::conflict, "the session is being ended"});
    session->after_layers = std::move(done);
    return;
  }
  stop_deadline(*session);
  session->isolation.give_back(std::move(session->sandbox),
                               [done = std::move(done)] { done(ok()); });
  forget(id);
}

void Sessions::forget(std::uint64_t id) {
  const auto found = sessions_.find(id);
  if (found->second->spec.lifetime == Lifetime::service) --services_;
  sessions_.erase(found);
}

// Nothing inside a frozen sandbox answers, yields or ends.
void Sessions::thaw(Session& session) {
  if (!session.frozen) return;
  session.sandbox->freeze(Freeze::thaw, [this, id = session.id](const Status& thawed) {
    Session* here = find(id);
    if (thawed && here != nullptr) here->frozen = false;
    if (!thawed) log_error(Error(thawed.error()).during("continuing a frozen session").describe());
  });
}

void Sessions::worker_died(Session& session, Death death) {
  stop_deadline(session);
  // Only a death that can be our doing: a worker that exited just before was not killed by us.
  const bool by_kill = death.cause == Cause::signalled && death.code == SIGKILL;
  if (session.killing && by_kill) death.cause = *session.killing;
  session.death = death;
  owners_.notify(session.owner, wire::Died{session.id, death});
}

Status Sessions::interrupt(std::uint64_t id, std::uint64_t execution) {
  Result<Session*> session = find_live(id);
  if (!session) return std::move(session.error());
  (*session)->sandbox->interrupt(execution);
  return ok();
}

Status Sessions::end_loop(const wire::EndLoop& request) {
  Result<Session*> session = find_live(request.session);
  if (!session) return std::move(session.error());
  (*session)->sandbox->end_loop(request.execution, request.screen);
  return ok();
}

Status Sessions::ask_stack(std::uint64_t id, std::uint64_t execution) {
  Result<Session*> session = find_live(id);
  if (!session) return std::move(session.error());
  (*session)->sandbox->ask_stack(execution);
  return ok();
}

Status Sessions::watch(const wire::Watch& request) {
  Result<Session*> found = find_live(request.session);
  if (!found) return std::move(found.error());
  Session& session = **found;
  stop_deadline(session);
  session.watched = request.execution;
  session.overdue = 0;
  session.deadline =
      loop_.after(std::chrono::milliseconds(std::min(request.milliseconds, kLongestWatch)),
                  [this, id = session.id] { deadline_passed(id); });
  session.sandbox->execution_started();
  return ok();
}

Status Sessions::unwatch(const wire::Unwatch& request) {
  Session* session = find(request.session);
  if (session == nullptr) return no_such_session();
  if (session->watched == request.execution) stop_deadline(*session);
  if (session->watched == 0 && session->sandbox && !session->death)
    session->sandbox->execution_ended();
  return ok();
}

void Sessions::stop_deadline(Session& session) {
  loop_.cancel(std::exchange(session.deadline, 0));
  session.watched = 0;
}

void Sessions::deadline_passed(std::uint64_t id) {
  Session& session = *sessions_.at(id);
  session.overdue = session.watched;
  owners_.notify(session.owner, wire::TimedOut{id, session.watched});
  thaw(session);  // a frozen one could neither yield nor end
  session.sandbox->ask_stack(session.watched);
  session.sandbox->interrupt(session.watched);
  session.deadline = loop_.after(kGrace, [this, id] { grace_passed(id); });
}

void Sessions::grace_passed(std::uint64_t id) {
  Session& session = *sessions_.at(id);
  session.deadline = 0;
  const auto kill_it = [](Session& late) {
    late.killing = Cause::timeout;
    late.sandbox->kill();
  };
  if (owners_.connected(session.owner)) return kill_it(session);
  // Without a client nobody has read that it yielded; the sandbox knows what it is waiting for.
  session.sandbox->is_idle([this, id, kill_it, execution = session.watched](Result<bool> idle) {
    Session* late = find(id);
    if (late == nullptr || !late->sandbox || late->death || late->watched != execution) return;
    if (!idle || !*idle) return kill_it(*late);
    late->watched = 0;
    late->sandbox->execution_ended();
  });
}

Status Sessions::kill(std::uint64_t id) {
  Result<Session*> session = find_live(id);
  if (!session) return std::move(session.error());
  if (!(*session)->killing) (*session)->killing = Cause::killed;
  (*session)->sandbox->kill();
  return ok();
}

void Sessions::usage(std::uint64_t id, Answer<wire::Used> answer) {
  Session* session = find(id);
  if (session == nullptr || !session->sandbox) return answer(no_such_session());
  session->sandbox->usage(std::move(answer));
}

void Sessions::freeze(const wire::Freeze& request, Done done) {
  Result<Session*> session = find_live(request.session);
  if (!session) return done(std::move(session.error()));
  const Freeze wanted = request.frozen ? Freeze::freeze : Freeze::thaw;
  (*session)->sandbox->freeze(
      wanted, [this, id = request.session, wanted, done = std::move(done)](Status frozen) {
        if (Session* here = find(id); here != nullptr && frozen)
          here->frozen = wanted == Freeze::freeze;
        done(std::move(frozen));
      });
}

void Sessions::open_display(const wire::OpenDisplay& request, Answer<OpenedDisplay> opened) {
  Session* session = find(request.session);
  if (session == nullptr || !session->sandbox) return opened(no_such_session());
  SandboxDisplay* display = session->sandbox->display();
  if (display == nullptr || (!display->exists() && (!request.start || session->death)))
    return opened(Error{.code = Code::unavailable,
                        .message = "the session has no display: nothing has opened a window",
                        .remedy = "run code that opens one"});
  display->open(std::move(opened));
}

void Sessions::mount_layers(const wire::MountLayers& request, Done done) {
  Result<Session*> session = find_live(request.session);
  if (!session) return done(std::move(session.error()));
  if ((*session)->layering) return done(Error{Code::conflict, "packages are being added already"});
  (*session)->layering = true;
  (*session)->sandbox->mount_layers(request.layers,
                                    [this, id = request.session, layers = request.layers,
                                     done = std::move(done)](Status mounted) {
                                      Session& here = *sessions_.at(id);
                                      here.layering = false;
                                      if (mounted) here.spec.layers = layers;
                                      done(std::move(mounted));
                                      if (here.after_layers)
                                        end(id, std::exchange(here.after_layers, {}));
                                    });
}

Result<SandboxFiles*> Sessions::files(std::uint64_t id) {
  Session* session = find(id);
  if (session == nullptr || !session->sandbox) return no_such_session();
  return &session->sandbox->files();
}

wire::Listed Sessions::list(std::uint64_t after) const {
  wire::Listed listed;
  for (auto one = sessions_.upper_bound(after); one != sessions_.end(); ++one) {
    const Session& session = *one->second;
    if (!session.sandbox) continue;  // being made, for a client that will be told
    if (listed.sessions.size() == wire::kListPage) {
      listed.more = true;
      break;
    }
    listed.sessions.push_back({session.id, session.death, session.watched, session.frozen});
  }
  return listed;
}

std::vector<IsolationOffer> Sessions::isolations() const {
  std::vector<IsolationOffer> all;
  for (const auto& [kind, isolation] : isolations_)
    all.push_back({.isolation = kind, .capabilities = isolation->capabilities()});
  return all;
}

bool Sessions::has_worker(std::uint64_t id) const {
  const auto found = sessions_.find(id);
  return found != sessions_.end() && found->second->sandbox != nullptr;
}

WorkerFds Sessions::fds(std::uint64_t id) const { return sessions_.at(id)->sandbox->fds(); }

void Sessions::stop() {
  stopping_ = true;
  std::vector<std::uint64_t> ids;
  for (const auto& [id, session] : sessions_) ids.push_back(id);
  for (std::uint64_t id : ids) end(id, [](Status) {});
}

}  // namespace vitrine::keeper
