// SPDX-License-Identifier: Apache-2.0
#include "keeper/sessions.h"

#include <sys/epoll.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "keeper/log.h"
#include "wire/signals.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::milliseconds kGrace{1'000};  // from the interrupt to the kill
// A session that used less of the processor than this in such a time is calm.
constexpr std::chrono::milliseconds kCalmPeriod{100};
constexpr std::uint64_t kCalmUsec = 10'000;
constexpr std::uint64_t kCalmWantedUsec = 50'000;  // with the time it waited for its turn
constexpr std::uint32_t kMaxCaught = 64;
constexpr std::chrono::milliseconds kSweepPeriod{500};
constexpr std::size_t kSweep = 32;        // sessions in a period
constexpr double kBurns = 0.25;           // of a processor, with no execution that lasts
constexpr std::size_t kMaxServices = 16;  // sessions of the server's own, beside the capacity

Error no_such_session() {
  return Error{.code = Code::not_found,
               .message = "there is no such session",
               .remedy = "create a session first"};
}

}  // namespace

Sessions::Sessions(Loop& loop, Rooms& rooms, Egress& egress, Displays& displays,
                   std::uint32_t capacity, Notify notify, Connected connected)
    : loop_(loop),
      rooms_(rooms),
      egress_(egress),
      displays_(displays),
      capacity_(capacity),
      notify_(std::move(notify)),
      connected_(std::move(connected)) {}

Sessions::Session* Sessions::find(std::uint64_t id) {
  auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : &found->second;
}

Result<Sessions::Session*> Sessions::find_live(std::uint64_t id) {
  Session* session = find(id);
  if (session == nullptr) return no_such_session();
  if (!session->room || session->death) {
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
  if (request.network)
    if (Status allowed = egress_.check(*request.network); !allowed)
      return opened(std::move(allowed.error()));
  if (Status valid = request.display.validate(); !valid) return opened(std::move(valid.error()));
  const bool service = request.lifetime == Lifetime::service;
  if (stopping_ || (service ? services_ >= kMaxServices : count() >= capacity_))
    return opened(Error{.code = Code::unavailable,
                        .message = stopping_ ? "the keeper is stopping" : "all sessions are taken",
                        .remedy = "try again later, or end a session"});
  const std::uint64_t id = ++last_id_;
  sessions_[id] = {.id = id, .owner = owner, .request = request};
  if (service) ++services_;
  fill(id, std::move(opened));
}

// Gives a session that has none a room.
void Sessions::fill(std::uint64_t id, Opened opened) {
  const wire::Create request = sessions_.at(id).request;
  rooms_.take(request, [this, id, opened = std::move(opened)](Result<Rooms::Taken> taken) {
    const Session& session = sessions_.at(id);
    const bool plain = session.layer.empty() && session.request.environment.empty();
    if (!taken || plain) return filled(id, std::move(taken), opened);
    lay(id, std::make_shared<Rooms::Taken>(std::move(*taken)), opened);
  });
}

// Its packages, before anybody can talk to the worker.
void Sessions::lay(std::uint64_t id, std::shared_ptr<Rooms::Taken> taken, const Opened& opened) {
  Room& room = *taken->room;
  rooms_.add_layer(room, sessions_.at(id).layer, [this, id, taken, opened](Status laid) {
    if (laid && taken->room->death) laid = Error{Code::unavailable, "the worker died"};
    if (laid) return filled(id, std::move(*taken), opened);
    give_up(id, std::move(laid.error()).during("adding packages"), std::move(taken->room), {},
            opened);
  });
}

void Sessions::forget(std::uint64_t id) {
  const auto found = sessions_.find(id);
  if (found->second.request.lifetime == Lifetime::service) --services_;
  sessions_.erase(found);
}

// A client that left before it was told the number cannot be missing the session.
bool Sessions::is_unwanted(const Session& session) const {
  const bool unknown = !session.announced && !connected_(session.owner);
  return session.after_fill || stopping_ || unknown;
}

void Sessions::leave(std::unique_ptr<Room> room, std::unique_ptr<Proxy> proxy,
                     std::function<void()> gone) {
  rooms_.set_yielding(*room, false);
  if (!proxy) return rooms_.give_back(std::move(room), std::move(gone));
  room->lifetime = Lifetime::session;  // what had a network is not used again
  rooms_.thaw(*room);                  // the proxy is in its cgroup: v1 kills only what runs
  auto kept = std::make_shared<std::unique_ptr<Room>>(std::move(room));
  egress_.close(std::move(proxy),
                [this, kept, gone = std::move(gone)] { rooms_.give_back(std::move(*kept), gone); });
}

// Of a session that is not to be, after all; `room` may be none.
void Sessions::give_up(std::uint64_t id, Error error, std::unique_ptr<Room> room,
                       std::unique_ptr<Proxy> proxy, const Opened& opened) {
  const Done done = std::move(sessions_.at(id).after_fill);
  forget(id);
  opened(std::move(error));
  const auto gone = [done] {
    if (done) done(ok());
  };
  if (!room) return gone();
  leave(std::move(room), std::move(proxy), gone);
}

// A session without a room is never ended otherwise, so it is still there.
void Sessions::filled(std::uint64_t id, Result<Rooms::Taken> taken, const Opened& opened) {
  Session& session = sessions_.at(id);
  if (!taken) return give_up(id, std::move(taken.error()), {}, {}, opened);
  if (is_unwanted(session))
    return give_up(id, Error{Code::unavailable, "the session was ended meanwhile"},
                   std::move(taken->room), {}, opened);
  if (session.request.network) return open_network(id, std::move(*taken), opened);
  move_in(session, std::move(taken->room));
  session.announced = true;
  opened(wire::Opened{id, taken->source});
}

void Sessions::open_network(std::uint64_t id, Rooms::Taken taken, Opened opened) {
  auto kept = std::make_shared<Rooms::Taken>(std::move(taken));
  kept->room->lifetime = Lifetime::session;
  const auto then = [this, id, kept,
                     opened = std::move(opened)](Result<std::unique_ptr<Proxy>> proxy) {
    if (!proxy) return give_up(id, std::move(proxy.error()), std::move(kept->room), {}, opened);
    Session& session = sessions_.at(id);
    if (is_unwanted(session))
      return give_up(id, Error{Code::unavailable, "the session was ended meanwhile"},
                     std::move(kept->room), std::move(*proxy), opened);
    const std::optional<Death> death = kept->room->death;  // while nobody was listening
    session.proxy = std::move(*proxy);
    move_in(session, std::move(kept->room));
    session.announced = true;
    opened(wire::Opened{id, kept->source});
    if (death) worker_ended(id, *death);
  };
  egress_.open(*kept->room->shell, *sessions_.at(id).request.network, then);
}

void Sessions::move_in(Session& session, std::unique_ptr<Room> room) {
  const std::uint64_t id = session.id;
  session.death.reset();
  session.killing.reset();
  session.watched = 0;
  session.swept_usec = 0;
  session.room = std::move(room);
  sweep_later();
  session.room->on_death = [this, id](Death death) { worker_ended(id, death); };
  Display& display = session.room->shell->display;
  if (!display.used) display.geometry = session.request.display;
  display.on_change = [this, id](Display::Change change, const std::string& detail) {
    Session* one = find(id);
    if (one == nullptr) return;
    if (change == Display::Change::started) notify_(one->owner, wire::DisplayStarted{id});
    else notify_(one->owner, wire::DisplayDied{id, detail});
  };
}

void Sessions::reset(const wire::Reset& request, std::uint64_t owner, Opened opened) {
  Session* session = find(request.session);
  if (session == nullptr) return opened(no_such_session());
  if (!session->room || session->after_fill)
    return opened(Error{Code::conflict, "the session is being made or reset already"});
  if (session->layering) return opened(Error{Code::conflict, "packages are being added to it"});
  if (request.files == Files::keep && !rooms_.can_refresh(*session->room))
    return opened(Error{.code = Code::unsupported,
                        .message = "the files cannot be kept on this host or after this death",
                        .remedy = "reset without keeping the files"});
  session->owner = owner;
  unwatch_now(*session);
  const std::uint64_t id = session->id;
  std::unique_ptr<Room> old = std::move(session->room);
  std::unique_ptr<Proxy> proxy = std::move(session->proxy);
  if (request.files == Files::wipe) {
    leave(std::move(old), std::move(proxy), {});
    return fill(id, std::move(opened));
  }
  auto kept = std::make_shared<std::unique_ptr<Room>>(std::move(old));
  const auto refresh = [this, id, kept, opened = std::move(opened)] {
    rooms_.refresh(std::move(*kept), [this, id, opened](Result<Rooms::Taken> taken) {
      filled(id, std::move(taken), opened);
    });
  };
  if (!proxy) return refresh();
  rooms_.set_yielding(**kept, false);
  // The next one listens on the same port of the same namespace.
  rooms_.thaw(**kept);
  egress_.close(std::move(proxy), refresh);
}

Result<wire::Opened> Sessions::attach(std::uint64_t id, std::uint64_t owner) {
  Result<Session*> session = find_live(id);
  if (!session) return std::move(session.error());
  (*session)->owner = owner;
  rooms_.thaw(*(*session)->room);  // it is about to be asked for what its new owner missed
  return wire::Opened{id, Source::warm, (*session)->overdue};
}

void Sessions::end(std::uint64_t id, Done done) {
  Session* session = find(id);
  if (session == nullptr) return done(no_such_session());
  if (!session->room) {  // being made: end it as soon as it is
    if (session->after_fill) return done(Error{Code::conflict, "the session is being ended"});
    session->after_fill = std::move(done);
    return;
  }
  if (session->layering) {  // a moment only
    if (session->after_layer) return done(Error{Code::conflict, "the session is being ended"});
    session->after_layer = std::move(done);
    return;
  }
  unwatch_now(*session);
  std::unique_ptr<Room> room = std::move(session->room);
  std::unique_ptr<Proxy> proxy = std::move(session->proxy);
  forget(id);
  leave(std::move(room), std::move(proxy), [done = std::move(done)] { done(ok()); });
}

void Sessions::worker_ended(std::uint64_t id, Death death) {
  Session* session = find(id);
  if (session == nullptr) return;
  unwatch_now(*session);
  if (session->death) return;  // told already
  // Only a death that can be our doing: a worker that exited just before was not killed by us.
  const bool by_kill = death.cause == Cause::signalled && death.code == SIGKILL;
  if (session->killing && by_kill) death.cause = *session->killing;
  session->death = death;
  notify_(session->owner, wire::Died{id, death});
  if (session->proxy) egress_.close(std::move(session->proxy), {});
}

Status Sessions::interrupt(std::uint64_t id, std::uint64_t execution) {
  Result<Session*> session = find_live(id);
  if (!session) return std::move(session.error());
  rooms_.signal(*(*session)->room, wire::interrupt_signal(), execution);
  return ok();
}

Status Sessions::end_loop(const wire::EndLoop& request) {
  Result<Session*> session = find_live(request.session);
  if (!session) return std::move(session.error());
  rooms_.signal(*(*session)->room, wire::end_loop_signal(),
                wire::end_loop_value(request.execution, request.screen));
  return ok();
}

Status Sessions::ask_stack(std::uint64_t id, std::uint64_t execution) {
  Result<Session*> session = find_live(id);
  if (!session) return std::move(session.error());
  rooms_.signal(*(*session)->room, wire::stack_signal(), execution);
  return ok();
}

Status Sessions::watch(const wire::Watch& request) {
  Result<Session*> session = find_live(request.session);
  if (!session) return std::move(session.error());
  unwatch_now(**session);
  constexpr std::uint64_t kDay = 24ull * 3600 * 1000;
  const std::uint64_t id = request.session;
  (*session)->watched = request.execution;
  (*session)->overdue = 0;
  (*session)->deadline =
      loop_.after(std::chrono::milliseconds(std::min(request.milliseconds, kDay)),
                  [this, id] { deadline_passed(id); });
  rooms_.set_yielding(*(*session)->room, true);
  return ok();
}

Status Sessions::unwatch(const wire::Unwatch& request) {
  Session* session = find(request.session);
  if (session == nullptr) return no_such_session();
  if (session->watched == request.execution) {
    unwatch_now(*session);
    look_for_calm(*session, 0);
  }
  // The kernel may have taken a child of it, which the worker survived to tell of a good end.
  if (session->room && !session->death && rooms_.lost_to_memory(*session->room)) {
    session->death = Death{.cause = Cause::oom, .code = SIGKILL};
    notify_(session->owner, wire::Died{session->id, *session->death});
    rooms_.kill_worker(*session->room);
  }
  return ok();
}

// What an execution started may go on after it. Such a session yields until it is calm.
void Sessions::look_for_calm(Session& session, std::uint64_t wanted_us) {
  loop_.cancel(std::exchange(session.calm, 0));
  if (!session.room || !session.room->yields) return;
  Result<std::uint64_t> used = rooms_.wanted_time(*session.room);
  if (!used) return rooms_.set_yielding(*session.room, false);
  const std::uint64_t most = rooms_.crowded() ? kCalmWantedUsec : kCalmUsec;
  const bool calm = wanted_us != 0 && *used >= wanted_us && *used - wanted_us < most;
  session.calm_periods = calm ? session.calm_periods + 1 : 0;
  if (calm && session.calm_periods > session.times_caught) {
    session.calm_periods = 0;
    return rooms_.set_yielding(*session.room, false);
  }
  session.calm = loop_.after(kCalmPeriod, [this, id = session.id, before = *used] {
    Session* later = find(id);
    if (later == nullptr) return;
    later->calm = 0;
    look_for_calm(*later, before);
  });
}

// Threads and processes may burn that no execution waits for. A few sessions at a time.
void Sessions::sweep_later() {
  if (sweep_ == 0 && !stopping_ && !sessions_.empty())
    sweep_ = loop_.after(kSweepPeriod, [this] { sweep(); });
}

void Sessions::sweep() {
  sweep_ = 0;
  auto at = sessions_.upper_bound(last_swept_);
  for (std::size_t i = 0; i < std::min(kSweep, sessions_.size()); ++i, ++at) {
    if (at == sessions_.end()) at = sessions_.begin();
    Session& session = at->second;
    last_swept_ = session.id;
    if (!session.room || session.room->yields || session.death || session.killing) {
      session.swept_usec = 0;  // what it does meanwhile is known already
      continue;
    }
    Result<std::uint64_t> used = rooms_.processor_time(*session.room);
    if (!used) continue;
    const auto now = Clock::now();
    const std::chrono::duration<double, std::micro> time = now - std::exchange(session.swept, now);
    const std::uint64_t before = std::exchange(session.swept_usec, *used);
    if (before == 0 || static_cast<double>(*used - before) < kBurns * time.count()) continue;
    // One that naps in between has to be calm for longer each time.
    session.times_caught = std::min(2 * session.times_caught + 1, kMaxCaught);
    rooms_.set_yielding(*session.room, true);
    look_for_calm(session, 0);
  }
  sweep_later();
}

void Sessions::unwatch_now(Session& session) {
  loop_.cancel(session.calm);
  loop_.cancel(session.deadline);
  session.calm = session.deadline = 0;
  session.watched = 0;
}

void Sessions::deadline_passed(std::uint64_t id) {
  Session& session = sessions_.at(id);
  session.overdue = session.watched;
  notify_(session.owner, wire::TimedOut{id, session.watched});
  rooms_.thaw(*session.room);  // a frozen one could neither yield nor end
  rooms_.signal(*session.room, wire::stack_signal(), session.watched);
  rooms_.signal(*session.room, wire::interrupt_signal(), session.watched);
  session.deadline = loop_.after(kGrace, [this, id] {
    Session& late = sessions_.at(id);
    late.deadline = 0;
    // Without a client nobody has read that it yielded; the kernel knows what it is waiting for.
    if (!connected_(late.owner) && rooms_.waits_for_message(*late.room)) {
      late.watched = 0;
      return look_for_calm(late, 0);
    }
    late.killing = Cause::timeout;
    rooms_.kill_worker(*late.room);
  });
}

Status Sessions::kill(std::uint64_t id) {
  Result<Session*> session = find_live(id);
  if (!session) return std::move(session.error());
  if (!(*session)->killing) (*session)->killing = Cause::killed;
  rooms_.kill_worker(*(*session)->room);
  return ok();
}

Result<wire::Used> Sessions::usage(std::uint64_t id) {
  Session* session = find(id);
  if (session == nullptr || !session->room) return no_such_session();
  return rooms_.usage(*session->room);
}

Status Sessions::freeze(const wire::Freeze& request) {
  Result<Session*> session = find_live(request.session);
  if (!session) return std::move(session.error());
  return rooms_.freeze(*(*session)->room, request.frozen);
}

void Sessions::open_display(const wire::OpenDisplay& request, DisplayOpened opened) {
  Session* session = find(request.session);
  if (session == nullptr || !session->room) return opened(no_such_session());
  const std::uint64_t id = request.session;
  Shell& shell = *session->room->shell;
  if (shell.display.pid < 0 && (!request.start || session->death))
    return opened(Error{.code = Code::unavailable,
                        .message = "the session has no display: nothing has opened a window",
                        .remedy = "run code that opens one"});
  displays_.open(shell, [this, id, opened = std::move(opened)](const Status& started) {
    if (!started) return opened(started.error());
    const Session* one = find(id);
    if (one == nullptr || !one->room) return opened(no_such_session());
    const Display& display = one->room->shell->display;
    opened(wire::DisplayOpened{display.geometry, display.generation});
  });
}

std::vector<NamedFd> Sessions::display_descriptors(std::uint64_t id) const {
  const Display& display = sessions_.at(id).room->shell->display;
  std::vector<NamedFd> fds{{wire::FdRole::framebuffer, display.framebuffer.get()}};
  if (display.helper) fds.push_back({wire::FdRole::screen_helper, display.helper.get()});
  return fds;
}

void Sessions::add_layer(const wire::AddLayer& request, Done done) {
  Result<Session*> session = find_live(request.session);
  if (!session) return done(std::move(session.error()));
  if ((*session)->layering) return done(Error{Code::conflict, "packages are being added already"});
  (*session)->layering = true;
  const std::uint64_t id = request.session;
  rooms_.add_layer(*(*session)->room, request.layer,
                   [this, id, layer = request.layer, done = std::move(done)](const Status& laid) {
                     Session& here = sessions_.at(id);
                     here.layering = false;
                     if (laid) here.layer = layer;
                     done(laid);
                     if (here.after_layer) end(id, std::exchange(here.after_layer, {}));
                   });
}

Result<Home> Sessions::home(std::uint64_t id) {
  Session* session = find(id);
  if (session == nullptr || !session->room || !session->room->shell->home) return no_such_session();
  return Home{session->room->shell->home.get(), session->room->shell->user};
}

wire::Listed Sessions::list(std::uint64_t after) const {
  wire::Listed listed;
  for (auto one = sessions_.upper_bound(after); one != sessions_.end(); ++one) {
    const Session& session = one->second;
    if (!session.room) continue;  // being made, for a client that will be told
    if (listed.sessions.size() == wire::kListPage) {
      listed.more = true;
      break;
    }
    listed.sessions.push_back({session.id, session.death, session.watched, session.room->frozen});
  }
  return listed;
}

bool Sessions::has_worker(std::uint64_t id) const {
  const auto found = sessions_.find(id);
  return found != sessions_.end() && found->second.room != nullptr;
}

std::vector<NamedFd> Sessions::descriptors(std::uint64_t id) const {
  const Worker& worker = sessions_.at(id).room->worker;
  std::vector<NamedFd> fds{{wire::FdRole::session_socket, worker.socket.get()},
                           {wire::FdRole::stdout_pipe, worker.out.get()},
                           {wire::FdRole::stderr_pipe, worker.err.get()}};
  if (const Proxy* proxy = sessions_.at(id).proxy.get()) {
    fds.push_back({wire::FdRole::egress_log, proxy->line.get()});
    fds.push_back({wire::FdRole::egress_counters, proxy->counters.get()});
  }
  return fds;
}

jail::Cgroup::Meters Sessions::meters(std::uint64_t id) const {
  const Shell& shell = *sessions_.at(id).room->shell;
  return shell.cgroup ? shell.cgroup->open_meters() : jail::Cgroup::Meters{};
}

void Sessions::stop() {
  stopping_ = true;
  loop_.cancel(std::exchange(sweep_, 0));
  std::vector<std::uint64_t> ids;
  for (const auto& [id, session] : sessions_) ids.push_back(id);
  for (std::uint64_t id : ids) end(id, [](Status) {});
}

}  // namespace vitrine::keeper
