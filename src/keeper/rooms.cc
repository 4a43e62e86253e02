// SPDX-License-Identifier: Apache-2.0
#include "keeper/rooms.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "base/packet.h"
#include "jail/worker.h"
#include "keeper/log.h"
#include "wire/frame.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::milliseconds kStartTime{15'000};
// A pool is filled once nobody asked for this long; but at the latest after kRefillLatest.
constexpr std::chrono::milliseconds kRefillPause{15};
constexpr std::chrono::milliseconds kRefillLatest{250};
constexpr int kVacateTries = 50;  // times 2 ms until the last process is gone
constexpr std::uint32_t kMaxBuilding = 2;
// A fork that the cgroup refuses costs its session time; one that RLIMIT_NPROC refuses costs little but
// leaves work to the kernel's own threads, which everybody waits for. So that is only the second wall.
std::uint64_t most_processes(const Shell& shell) {
  const std::uint64_t most = shell.limits.processes;
  return shell.cgroup && shell.cgroup->limits_worker_pids() ? 2 * most + 64 : most;
}

constexpr std::chrono::milliseconds kOomPause{10};
constexpr int kOomLooks = 50;

const Limits kDefaultLimits{};

bool same_shape(const Limits& a, const Limits& b) {
  return a.memory_bytes == b.memory_bytes && a.cpu_permille == b.cpu_permille &&
         a.processes == b.processes && a.disk_bytes == b.disk_bytes;
}

std::size_t index(Variant variant) { return static_cast<std::size_t>(variant); }

Error died_while_started() {
  return Error{.code = Code::unavailable,
               .message = "the worker died while it started",
               .remedy = "try again"};
}

// Why a worker could not start, if the datagram says so.
Error start_failure(std::string_view datagram, Error otherwise) {
  const Result<wire::Frame> frame = wire::decode_frame(datagram);
  if (!frame || frame->type != wire::Type::start_failed) return otherwise;
  return Error::unpack(frame->payload);
}

}  // namespace

void Rooms::take(const wire::Create& request, Take taken) {
  schedule_refill();
  if (!zygotes_.knows(request.environment))
    return taken(Error{.code = Code::invalid_argument,
                       .message = "there is no such environment",
                       .remedy = "GET /v1/info names those that exist"});
  // An environment's zygote starts when it is first asked for, and may import for long.
  const Flavor flavor(request.variant, request.environment);
  if (!request.environment.empty() && !zygotes_.warm(flavor)) {
    zygotes_.on_warm(flavor, [this, request, taken = std::move(taken)](const Status& warm) {
      if (!warm) return taken(warm.error());
      take(request, taken);
    });
    return zygotes_.want(flavor);
  }
  if (starts_of(request).waiting() == 0)
    if (std::unique_ptr<Room> room = take_warm(request))
      return taken(Taken{std::move(room), Source::warm});
  start_in_turn(request, std::move(taken), [this, request](Take then) {
    if (stopping_) return then(Error{Code::unavailable, "the keeper is stopping"});
    if (std::unique_ptr<Room> room = take_warm(request))  // while it waited
      return then(Taken{std::move(room), Source::warm});
    take_cold(request, std::move(then));
  });
}

RequestWindow& Rooms::starts_of(const wire::Create& request) {
  return starts_.try_emplace(Flavor(request.variant, request.environment), kMaxStarts)
      .first->second;
}

void Rooms::start_in_turn(const wire::Create& request, Take taken,
                          std::function<void(Take)> begin) {
  RequestWindow& starts = starts_of(request);
  starts.enter([&starts, taken = std::move(taken), begin = std::move(begin)] {
    begin([&starts, taken](Result<Taken> got) {
      taken(std::move(got));
      starts.leave();
    });
  });
}

std::unique_ptr<Room> Rooms::take_warm(const wire::Create& request) {
  auto& pool = warm_[index(request.variant)];
  const bool plain = flavor_for(request) == Flavor(request.variant);
  if (pool.empty() || !plain || !same_shape(request.limits, kDefaultLimits)) return nullptr;
  std::unique_ptr<Room> room = std::move(pool.front());
  pool.pop_front();
  room->lifetime = request.lifetime;
  return room;
}

void Rooms::take_cold(const wire::Create& request, Take taken) {
  const bool ordinary = same_shape(request.limits, kDefaultLimits);
  std::deque<Shell*>* shells = &empty_;
  if (request.lifetime == Lifetime::one_shot && !recycled_.empty()) shells = &recycled_;
  if (ordinary && !shells->empty()) {
    Shell* shell = shells->front();
    shells->pop_front();
    shell->on_init_gone = {};
    return furnish(shell, request, Rehearse::no, Source::forked, std::move(taken));
  }
  shells_.build(request.limits, [this, request, taken = std::move(taken)](Result<Shell*> shell) {
    if (!shell) return taken(std::move(shell.error()));
    if (stopping_)
      return shells_.retire(*shell, [taken] {
        taken(Error{Code::unavailable, "the keeper is stopping"});
      });
    furnish(*shell, request, Rehearse::no, Source::built, taken);
  });
}

// The zygote of a policy starts when the policy is first asked for. Until it is warm, sessions of that
// policy come from the ordinary one, and import the policy's interpreter themselves.
Flavor Rooms::flavor_for(const wire::Create& request) {
  const Flavor own(request.variant, request.environment, request.policy);
  const Flavor plain(request.variant, request.environment);
  if (own == plain || zygotes_.warm(own)) return own;
  zygotes_.want(own);
  return plain;
}

void Rooms::furnish(Shell* shell, const wire::Create& request, Rehearse rehearse, Source source,
                    Take taken) {
  auto start = std::make_shared<Start>();
  start->room = std::make_unique<Room>();
  start->source = source;
  start->taken = std::move(taken);
  Room& room = *start->room;
  room.shell = shell;
  room.variant = request.variant;
  room.environment = request.environment;
  room.policy = request.policy;
  room.lifetime = request.lifetime;

  if (shell->init_gone)  // its number may be somebody else's by now
    return abandon(start, Error{Code::unavailable, "the shell died before its worker started"});
  Result<FdPair> socket = make_socketpair();
  Result<FdPair> out = make_pipe();
  Result<FdPair> err = make_pipe();
  Result<Fd> door = shells_.door(*shell);
  if (!socket || !out || !err || !door)
    return abandon(start, Error{Code::over_limit, "no descriptors are left for a worker"});
  room.worker.socket = std::move(socket->first);
  room.worker.out = std::move(out->first);
  room.worker.err = std::move(err->first);
  std::vector<Fd> fds;
  fds.push_back(std::move(*door));
  fds.push_back(std::move(socket->second));
  fds.push_back(std::move(out->second));
  fds.push_back(std::move(err->second));
  if (shell->ruleset) {
    Result<Fd> ruleset = duplicate(shell->ruleset.get());
    if (!ruleset) return abandon(start, std::move(ruleset.error()));
    fds.push_back(std::move(*ruleset));
  }
  jail::CgroupEntrance entrance;
  if (shell->cgroup && shells_.delegated()) {
    Result<jail::CgroupEntrance> opened =
        shell->cgroup->open_entrance(jail::Cgroup::Member::worker);
    if (!opened) return abandon(start, std::move(opened.error()));
    entrance = std::move(*opened);
  }
  const bool limited = static_cast<bool>(shell->oom);  // else its cgroup does not limit memory
  const wire::ForkRequest fork{
      .disk_bytes = shell->limits.disk_bytes,
      .inodes = inodes_for(shell->limits),
      .processes = most_processes(*shell),
      .data_bytes = limited ? 0 : shell->limits.memory_bytes,
      .scratch = shell->scratch,
      .uses = shell->uses,
      .user = shells_.level() == Level::container ? shell->user.value() : 0,
      .fail_at = faults_ ? faults_() : 0,
      .recycled = shell->uses > 0 && source != Source::warm ? std::uint8_t{1} : std::uint8_t{0},
      .rehearse = rehearse == Rehearse::yes ? std::uint8_t{1} : std::uint8_t{0},
      .has_ruleset = shell->ruleset ? std::uint8_t{1} : std::uint8_t{0},
      .has_cgroup = entrance.into ? std::uint8_t{1} : std::uint8_t{0}};
  if (entrance.into) fds.push_back(std::move(entrance.into));
  for (Fd& one : entrance.doors) fds.push_back(std::move(one));
  ++shell->uses;
  start->timer = loop_.after(kStartTime, [this, start] {
    abandon(start, Error{Code::timed_out, "starting a worker took too long"});
  });
  (void)loop_.watch(room.worker.socket.get(), EPOLLIN,
                    [this, start](std::uint32_t) { worker_spoke(start); });
  shell->on_init_gone = [this, start] {
    abandon(start, Error{Code::unavailable, "the shell died while its worker started"});
  };
  zygotes_.fork(flavor_for(request), fork, std::move(fds),
                [this, start](Result<Born> born) { worker_forked(start, std::move(born)); });
}

void Rooms::worker_forked(const std::shared_ptr<Start>& start, Result<Born> born) {
  if (!start->room) {  // abandoned meanwhile; its shell is being taken down
    if (!born) return;
    reaper_.watch(born->pid, [lease = born->lease](Ending) {});
    reaper_.signal(born->pid, SIGKILL);
    return;
  }
  if (!born) return abandon(start, std::move(born.error()));
  Room& room = *start->room;
  room.worker.pid = born->pid;
  room.worker.lease = born->lease;
  reaper_.watch(born->pid, [this, start](Ending) {
    start->room->worker.pid = -1;
    abandon(start, last_words(*start, died_while_started()));
  });
  if (Status s = shells_.place_worker(*room.shell, born->pid); !s)
    return abandon(start, last_words(*start, std::move(s.error())));
  start->joined = true;
  conclude(start);
}

void Rooms::worker_spoke(const std::shared_ptr<Start>& start) {
  Result<Packet> packet =
      receive_packet(start->room->worker.socket.get(), wire::kMaxFrame, 0, Wait::dont);
  if (!packet) {
    if (packet.error().code == Code::timed_out) return;
    // Before the zygote's answer, that one knows better.
    if (!start->joined) return loop_.unwatch(start->room->worker.socket.get());
    return abandon(start, died_while_started());
  }
  if (Result<wire::Frame> frame = wire::decode_frame(packet->bytes);
      frame && frame->type == wire::Type::ready) {
    start->ready = true;
    loop_.unwatch(start->room->worker.socket.get());
    return conclude(start);
  }
  abandon(start, start_failure(packet->bytes,
                               Error{Code::internal, "the worker sent something else than ready"}));
}

// Why a worker that is gone did not start, if it could still tell.
Error Rooms::last_words(const Start& start, Error otherwise) {
  Result<Packet> packet =
      receive_packet(start.room->worker.socket.get(), wire::kMaxFrame, 0, Wait::dont);
  return packet ? start_failure(packet->bytes, std::move(otherwise)) : otherwise;
}

void Rooms::conclude(const std::shared_ptr<Start>& start) {
  if (!start->joined || !start->ready) return;
  loop_.cancel(start->timer);
  watch_room(*start->room);
  Take taken = std::move(start->taken);
  taken(Taken{std::move(start->room), start->source});
}

void Rooms::abandon(const std::shared_ptr<Start>& start, Error error) {
  if (!start->room) return;
  loop_.cancel(start->timer);
  std::unique_ptr<Room> room = std::move(start->room);
  if (room->worker.socket) loop_.unwatch(room->worker.socket.get());
  Take taken = std::move(start->taken);
  room->lifetime = Lifetime::session;  // a shell in which something failed is not used again
  give_back(std::move(room), [taken = std::move(taken), error = std::move(error)]() mutable {
    taken(std::move(error).as_ours().during("starting a worker"));
  });
}

void Rooms::watch_room(Room& room) {
  Room* here = &room;
  reaper_.watch(room.worker.pid, [this, here](Ending ending) { worker_ended(*here, ending); });
  room.shell->on_init_gone = {};  // the worker dies with it, and that is what counts
  if (!room.shell->oom) return;
  if (Result<std::uint64_t> kills = room.shell->cgroup->oom_kills(); kills) room.oom_kills = *kills;
  (void)loop_.watch(room.shell->oom.get(), room.shell->cgroup->oom_poll_events(),
                    [this, here](std::uint32_t) { out_of_memory(*here); });
}

void Rooms::out_of_memory(Room& room) {
  jail::drain_oom_event(room.shell->oom.get());
  look_for_oom_kill(room, kOomLooks);
}

void Rooms::look_for_oom_kill(Room& room, int looks) {
  Result<std::uint64_t> kills = room.shell->cgroup->oom_kills();
  if (!kills) return;
  if (*kills <= room.oom_kills) {
    // v1 tells of the want before it chooses a victim.
    if (looks == 0) return;
    loop_.cancel(room.oom_timer);
    room.oom_timer = loop_.after(kOomPause, [this, &room, looks] {
      room.oom_timer = 0;
      look_for_oom_kill(room, looks - 1);
    });
    return;
  }
  // v1 kills one process; a session that lost a part of itself is not worth keeping.
  room.killed_for_memory = true;
  kill_worker(room);
}

void Rooms::worker_ended(Room& room, Ending ending) {
  room.worker.pid = -1;
  room.worker.lease.reset();
  if (room.shell->oom && !room.killed_for_memory)
    if (Result<std::uint64_t> kills = room.shell->cgroup->oom_kills();
        kills && *kills > room.oom_kills)
      room.killed_for_memory = true;
  Death death{.cause = ending.signalled ? Cause::signalled : Cause::exited, .code = ending.code};
  if (room.killed_for_memory) death = {.cause = Cause::oom, .code = SIGKILL};
  room.death = death;
  kill_worker(room);  // what it left running
  if (room.on_death) {
    auto on_death = std::move(room.on_death);
    return on_death(death);
  }
  for (auto& pool : warm_) {  // it waited for nobody
    auto found = std::ranges::find_if(pool, [&](const auto& one) { return one.get() == &room; });
    if (found == pool.end()) continue;
    std::unique_ptr<Room> owned = std::move(*found);
    pool.erase(found);
    owned->lifetime = Lifetime::session;
    log_warning("a waiting worker died");
    give_back(std::move(owned), {});
    return schedule_refill();
  }
}

void Rooms::kill_worker(Room& room) {
  set_yielding(room, false);  // dying takes processor time, too
  const bool killed = room.shell->cgroup && room.shell->cgroup->kill_worker();
  thaw(room);
  if (killed) return;
  if (room.worker.pid > 0) reaper_.signal(room.worker.pid, SIGKILL);
  // Without a cgroup only init's end takes along what the worker started.
  shells_.end_inside(*room.shell);
}

void Rooms::add_layer(Room& room, const std::string& layer, std::function<void(Status)> done) {
  if (room.shell->layer == layer && room.shell->environment == room.environment) return done(ok());
  room.shell->layer = layer;
  room.shell->environment = room.environment;
  shells_.add_layer(*room.shell, layer, room.environment,
                    [&room, done = std::move(done)](const Status& mounted) {
                      if (!mounted) room.shell->layer.reset();
                      done(mounted);
                    });
}

void Rooms::signal(const Room& room, int signal, std::uint64_t value) const {
  if (room.worker.pid > 0)
    reaper_.signal(room.worker.pid, signal, static_cast<std::uint32_t>(value));
}

Result<wire::Used> Rooms::usage(const Room& room) const {
  if (!room.shell->cgroup)
    return Error{Code::unsupported, "this host gives no cgroups to measure with"};
  Result<jail::CgroupUsage> usage = room.shell->cgroup->usage();
  if (!usage) return std::move(usage.error());
  return wire::Used{.cpu_us = usage->cpu_usec.value_or(0),
                    .memory_peak_bytes = usage->memory_peak_bytes.value_or(0),
                    .memory_now_bytes = usage->memory_now_bytes.value_or(0)};
}

Result<std::uint64_t> Rooms::processor_time(const Room& room) const {
  if (!room.shell->cgroup)
    return Error{Code::unsupported, "this host gives no cgroups to measure with"};
  return room.shell->cgroup->cpu_usec();
}

Result<std::uint64_t> Rooms::wanted_time(const Room& room) const {
  Result<std::uint64_t> used = processor_time(room);
  if (used && crowd_.full()) *used += room.shell->cgroup->waited_usec();
  return used;
}

Status Rooms::freeze(Room& room, bool frozen) {
  if (!room.shell->cgroup)
    return Error{Code::unsupported, "this host gives no cgroups to freeze with"};
  Status done = room.shell->cgroup->freeze(frozen ? jail::Cgroup::Freeze::freeze
                                                  : jail::Cgroup::Freeze::thaw);
  if (done) room.frozen = frozen;
  return done;
}

void Rooms::thaw(Room& room) {
  if (!room.frozen) return;
  if (Status thawed = freeze(room, false); !thawed)
    log_error(std::move(thawed.error()).during("continuing a frozen session").describe());
}

void Rooms::set_yielding(Room& room, bool yields) {
  if (!yields) return room.yields.reset();
  // Without a cgroup the session is only as near to its neighbours as it would be without us.
  if (!room.yields && room.shell->cgroup)
    room.yields = crowd_.add(*room.shell->cgroup, room.shell->limits.cpu_permille);
}

bool Rooms::may_recycle(const Room& room) const {
  return !stopping_ && room.lifetime == Lifetime::one_shot && room.shell->cgroup &&
         room.shell->layer == "" && room.shell->environment.empty() && !room.shell->display.used &&
         !room.shell->init_gone && !room.killed_for_memory && room.shell->ruleset &&
         same_shape(room.shell->limits, kDefaultLimits) &&
         room.shell->uses < config_.uses_per_shell && recycled_.size() < config_.recycled;
}

void Rooms::give_back(std::unique_ptr<Room> room, std::function<void()> gone) {
  Shell* shell = room->shell;
  set_yielding(*room, false);
  loop_.cancel(room->oom_timer);
  if (shell->oom) loop_.unwatch(shell->oom.get());
  shell->on_init_gone = {};
  shell->display.on_change = {};
  const int pid = room->worker.pid;
  if (pid > 0) reaper_.watch(pid, [lease = room->worker.lease](Ending) {});
  const bool recyclable = may_recycle(*room) && shell->cgroup->kill_worker();
  thaw(*room);
  if (!recyclable) {
    room.reset();
    return shells_.retire(shell, std::move(gone));
  }
  if (pid < 0) return recycle(shell, std::move(gone));
  reaper_.watch(pid, [this, shell, lease = room->worker.lease, gone = std::move(gone)](Ending) {
    recycle(shell, gone);
  });
}

// Calls `then` with yes once nobody is left of the last worker, or with no if it comes to nothing.
void Rooms::vacate(Shell* shell, int tries, std::function<void(Vacant)> then) {
  Result<bool> populated = shell->cgroup->worker_populated();
  if (!populated || stopping_ || shell->init_gone || (*populated && tries == 0))
    return then(Vacant::no);
  if (!*populated) return then(shell->cgroup->renew_worker() ? Vacant::yes : Vacant::no);
  loop_.after(std::chrono::milliseconds(2),
              [this, shell, tries, then = std::move(then)] { vacate(shell, tries - 1, then); });
}

void Rooms::recycle(Shell* shell, std::function<void()> gone) {
  vacate(shell, kVacateTries, [this, shell, gone = std::move(gone)](Vacant vacant) {
    // Asked only now: while it lived it could still open a connection.
    if (vacant == Vacant::no || was_display_wanted(*shell) || used_the_network(*shell) ||
        left_network_traces(*shell))
      return shells_.retire(shell, gone);
    (void)shell->cgroup->reset_peak();
    shell->home.reset();  // of the scratch space that the next worker replaces
    shell->on_init_gone = [this, shell] {
      std::erase(recycled_, shell);
      shells_.retire(shell, {});
    };
    recycled_.push_back(shell);
    if (gone) gone();
  });
}

// Also by a connection that nobody has looked at yet: what it says would reach the next one's server.
bool Rooms::was_display_wanted(const Shell& shell) const {
  pollfd listener{.fd = shell.display.listener.get(), .events = POLLIN, .revents = 0};
  return shell.display.used || ::poll(&listener, 1, 0) != 0;
}

bool Rooms::can_refresh(const Room& room) const {
  return room.shell->cgroup && !room.shell->init_gone;
}

bool Rooms::waits_for_message(const Room& room) const {
  // "271 0x7ffd... 0x1 0x0 ...": its main thread is in ppoll, for one descriptor and for ever.
  const std::string path = "/proc/" + std::to_string(room.worker.pid) + "/syscall";
  Result<std::string> call = read_file(AT_FDCWD, path.c_str(), 4096);
  long number = -1;
  unsigned long count = 0;
  unsigned long timeout = 1;
  return room.worker.pid > 0 && call &&
         std::sscanf(call->c_str(), "%ld %*x %lx %lx", &number, &count, &timeout) == 3 &&
         number == SYS_ppoll && count == 1 && timeout == 0;
}

bool Rooms::lost_to_memory(Room& room) const {
  if (!room.shell->oom) return false;
  Result<std::uint64_t> kills = room.shell->cgroup->oom_kills();
  if (kills && *kills > room.oom_kills) room.killed_for_memory = true;
  return room.killed_for_memory;
}

bool Rooms::used_the_network(const Shell& shell) const {
  const std::string path = "/proc/" + std::to_string(shell.init) + "/net/dev";
  Result<std::string> devices = read_file(AT_FDCWD, path.c_str(), 64 * 1024);
  if (!devices) return true;
  const std::size_t at = devices->find("lo:");
  unsigned long received = 1;
  if (at != std::string::npos) std::sscanf(devices->c_str() + at, "lo: %lu", &received);
  return received != 0;
}

namespace {

// Whether every counter in a file like /proc/net/snmp is still zero. Lines name counters or count
// them; the first of Ip and Tcp are settings.
bool counts_nothing(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    int settings = line.starts_with("Ip:") ? 2 : line.starts_with("Tcp:") ? 4 : 0;
    for (bool first = true; !line.empty(); first = false) {
      const std::size_t space = std::min(line.find_first_of(" \t"), line.size());
      const std::string_view word = line.substr(0, space);
      line.remove_prefix(std::min(space + 1, line.size()));
      if (first || word.empty() || settings-- > 0) continue;
      if ((word[0] == '-' || (word[0] >= '0' && word[0] <= '9')) && word != "0") return false;
    }
  }
  return true;
}

}  // namespace

// What outlives sockets, and the next one-shot could read: counters of packets that found no way,
// and labels of IPv6 flows, which linger. Nothing of it passes the loopback device.
bool Rooms::left_network_traces(const Shell& shell) const {
  const std::string net = "/proc/" + std::to_string(shell.init) + "/net/";
  for (const char* name : {"snmp", "snmp6", "netstat"}) {
    Result<std::string> counters = read_file(AT_FDCWD, (net + name).c_str(), 64 * 1024);
    if (counters ? !counts_nothing(*counters) : counters.error().code != Code::not_found)
      return true;
  }
  Result<std::string> labels = read_file(AT_FDCWD, (net + "ip6_flowlabel").c_str(), 64 * 1024);
  if (!labels) return labels.error().code != Code::not_found;  // a kernel without IPv6
  return labels->find('\n') + 1 < labels->size();
}

void Rooms::refresh(std::unique_ptr<Room> room, Take taken) {
  Shell* shell = room->shell;
  const wire::Create request{.variant = room->variant,
                             .lifetime = room->lifetime,
                             .limits = shell->limits,
                             .environment = room->environment,
                             .policy = room->policy};
  if (shell->oom) loop_.unwatch(shell->oom.get());
  loop_.cancel(room->oom_timer);
  const int pid = room->worker.pid;
  kill_worker(*room);
  auto again = [this, shell, request, taken = std::move(taken)](Vacant vacant) {
    const auto refuse = [this, shell](const Take& then, const char* why) {
      shells_.retire(shell, [then, why] { then(Error{Code::unavailable, why}); });
    };
    if (vacant == Vacant::no) return refuse(taken, "the old worker's processes do not end");
    start_in_turn(request, taken, [this, shell, request, refuse](Take then) {
      if (stopping_) return refuse(then, "the keeper is stopping");
      furnish(shell, request, Rehearse::no, Source::warm, std::move(then));
    });
  };
  if (pid < 0) return vacate(shell, kVacateTries, std::move(again));
  reaper_.watch(pid, [this, shell, lease = room->worker.lease, again = std::move(again)](Ending) {
    vacate(shell, kVacateTries, again);
  });
}

void Rooms::schedule_refill() {
  if (stopping_) return;
  const auto now = Clock::now();
  if (refill_timer_ == 0) refill_latest_ = now + kRefillLatest;
  loop_.cancel(refill_timer_);
  refill_timer_ = loop_.at(std::min(now + kRefillPause, refill_latest_), [this] {
    refill_timer_ = 0;
    refill();
  });
}

void Rooms::refill_later(std::uint32_t& failures, Error error) {
  ++failures;
  if (stopping_) return;
  log_warning(std::move(error).during("filling the pool").describe());
  if (refill_timer_ != 0) return;
  refill_latest_ = Clock::now() + std::chrono::milliseconds(100u << std::min(failures, 6u));
  refill_timer_ = loop_.at(refill_latest_, [this] {
    refill_timer_ = 0;
    refill();
  });
}

void Rooms::refill() {
  if (stopping_) return;
  for (std::size_t v = 0; v < kVariants; ++v) {
    if (warm_[v].size() + warming_[v] >= config_.workers[v]) continue;
    if (warming_[v] >= 1 || empty_.empty()) continue;
    Shell* shell = empty_.front();
    empty_.pop_front();
    shell->on_init_gone = {};
    ++warming_[v];
    const wire::Create request{.variant = static_cast<Variant>(v)};
    furnish(shell, request, Rehearse::yes, Source::warm, [this, v](Result<Taken> taken) {
      --warming_[v];
      if (!taken) return refill_later(worker_failures_, std::move(taken.error()));
      worker_failures_ = 0;
      if (stopping_) return give_back(std::move(taken->room), {});
      warm_[v].push_back(std::move(taken->room));
      if (refill_timer_ == 0) refill();
    });
  }
  std::size_t wanted = config_.shells;
  for (std::size_t v = 0; v < kVariants; ++v)
    wanted += config_.workers[v] -
              std::min<std::size_t>(config_.workers[v], warm_[v].size() + warming_[v]);
  while (empty_.size() + building_ < wanted && building_ < kMaxBuilding) {
    ++building_;
    shells_.build(kDefaultLimits, [this](Result<Shell*> shell) {
      --building_;
      if (!shell) return refill_later(shell_failures_, std::move(shell.error()));
      shell_failures_ = 0;
      if (stopping_) return shells_.retire(*shell, {});
      (*shell)->on_init_gone = [this, gone = *shell] {
        std::erase(empty_, gone);
        shells_.retire(gone, {});
        schedule_refill();
      };
      empty_.push_back(*shell);
      if (refill_timer_ == 0) refill();
    });
  }
}

bool Rooms::full() const {
  for (std::size_t v = 0; v < kVariants; ++v)
    if (warm_[v].size() < config_.workers[v]) return false;
  return empty_.size() >= config_.shells;
}

Rooms::Counts Rooms::counts() const {
  Counts counts{.empty = empty_.size(), .recycled = recycled_.size()};
  for (std::size_t v = 0; v < kVariants; ++v) counts.warm[v] = warm_[v].size();
  return counts;
}

void Rooms::stop() {
  stopping_ = true;
  for (auto& [flavor, starts] : starts_) starts.flush();
  loop_.cancel(refill_timer_);
  refill_timer_ = 0;
  for (auto& pool : warm_)
    for (auto& room : std::exchange(pool, {})) give_back(std::move(room), {});
  for (Shell* shell : std::exchange(empty_, {})) shells_.retire(shell, {});
  for (Shell* shell : std::exchange(recycled_, {})) shells_.retire(shell, {});
}

}  // namespace vitrine::keeper
