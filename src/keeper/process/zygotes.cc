// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/zygotes.h"

#include <sys/epoll.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>

#include "base/packet.h"
#include "jail/mounts.h"
#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::milliseconds kWarmTime{60'000};
constexpr std::chrono::milliseconds kPatience{1500};
constexpr std::chrono::milliseconds kCalm{50};
constexpr std::uint32_t kMostChildren = 2;  // times as many as there should be, before it is urgent
constexpr std::uint32_t kMaxFailures = 5;   // in a row, before waiting requests are refused

// The environment of every session, built here and nowhere else: the interpreter starts with it, so
// no worker has to change it after the fork.
std::vector<std::string> environment(Variant variant) {
  std::vector<std::string> variables{
      "PATH=/home/sandbox/.local/bin:/usr/lib/vitrine/bin:/usr/local/bin:/usr/bin:/bin:"
      "/usr/local/lib/vitrine-packages/bin",
      "HOME=/home/sandbox",
      "USER=sandbox",
      "LOGNAME=sandbox",
      "SHELL=/bin/bash",
      "LANG=C.UTF-8",
      "TZ=UTC",
      "TERM=dumb",
      "TMPDIR=/tmp",
      "DISPLAY=:" + std::to_string(kDisplayNumber),
      std::string("XAUTHORITY=") + jail::kDisplayDirectory + "/authority",
      "XCOMPOSEFILE=/dev/null",  // a compose table that nobody needs costs Tk 30 ms
      "XDG_RUNTIME_DIR=/tmp/.runtime",
      "SDL_AUDIODRIVER=dummy",
      "MPLBACKEND=module://vitrine_runtime.mpl_backend",
      "OMP_NUM_THREADS=1",
      "OPENBLAS_NUM_THREADS=1",
      // pandas imports pyarrow: its jemalloc starts a thread, and with its own pools sessions without a
      // cgroup ran into RLIMIT_DATA.
      "ARROW_DEFAULT_MEMORY_POOL=system",
      "JE_ARROW_MALLOC_CONF=background_thread:false",
      "PYTHONDONTWRITEBYTECODE=1",
      // For the interpreter's own start; the library takes them out before Python looks.
      "LD_PRELOAD=/usr/lib/vitrine/_vitrine.so",
      "LD_BIND_NOW=1",
      "GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
  };
  if (variant == Variant::seeded) variables.emplace_back("PYTHONHASHSEED=0");
  return variables;
}

std::string_view warm_name(Variant variant) { return variant == Variant::bare ? "bare" : "loaded"; }

std::shared_ptr<void> lease(std::shared_ptr<std::uint32_t> alive) {
  ++*alive;
  return {nullptr, [alive](void*) { --*alive; }};
}

}  // namespace

std::vector<int> ForkFds::in_order() const {
  std::vector<int> fds{entrance->join.get(), socket.get(), out.get(), err.get()};
  if (ruleset) fds.push_back(ruleset->get());
  if (entrance->cgroups.into) fds.push_back(entrance->cgroups.into.get());
  for (const Fd& one : entrance->cgroups.join_fds) fds.push_back(one.get());
  return fds;
}

// As they stand in a list of Python's: "'torch','torch.nn'". Their names were checked.
std::string Zygotes::modules_of(const ZygoteKey& key) const {
  const auto found = config_.environments.find(key.environment);
  std::string out;
  if (found != config_.environments.end() && key.variant != Variant::bare)
    for (const std::string& module : found->second.preload)
      out += (out.empty() ? "'" : ",'") + module + "'";
  return out;
}

void Zygotes::want(const ZygoteKey& key) {
  ZygoteSlot& wanted = slot(key);
  if (!wanted.current && !wanted.next) start(key);
}

bool Zygotes::warm(const ZygoteKey& key) const {
  const auto found = slots_.find(key);
  return found != slots_.end() && found->second.current != nullptr;
}

std::vector<Zygotes::Condition> Zygotes::conditions() const {
  std::vector<Condition> all;
  for (const auto& [key, one] : slots_)
    for (const auto& zygote : {one.current, one.next})
      if (zygote)
        all.push_back({zygote->key, zygote->pid, zygote->warm, zygote->forks, *zygote->alive});
  return all;
}

void Zygotes::on_warm(const ZygoteKey& key, std::function<void(Status)> told) {
  if (warm(key)) return told(ok());
  slot(key).listeners.push_back(std::move(told));
}

void Zygotes::start(const ZygoteKey& key) {
  if (stopping_) return;
  auto zygote = std::make_shared<Zygote>();
  zygote->key = key;
  slot(key).next = zygote;
  Result<FdPair> pair = make_socketpair();
  if (!pair) return died(zygote);
  zygote->control = std::move(pair->first);
  if (!receive_names(zygote->control.get())) return died(zygote);
  const std::string boot = "from vitrine_runtime import boot; boot.main('" +
                           std::string(warm_name(key.variant)) + "', [" + modules_of(key) + "], '" +
                           std::string(to_string(key.policy)) + "')";
  StartZygote request{.argv = {"/usr/bin/python3", "-c", boot},
                      .environment = environment(key.variant),
                      .packages = key.environment};
  Status sent =
      shells_.start_zygote(request, pair->second.get(), config_.zygote_filter,
                           config_.worker_filter, [this, zygote](Result<int> pid) {
                             if (!pid) {
                               log_error(pid.error().describe());
                               return died(zygote);
                             }
                             zygote->pid = *pid;
                             reaper_.watch(*pid, [this, zygote](Ending) { died(zygote); });
                             (void)send_packet(zygote->control.get(), "go", {}, Wait::dont);
                           });
  if (!sent) return died(zygote);
  zygote->timer = loop_.after(kWarmTime, [this, zygote] {
    log_error("a zygote did not become warm in time");
    if (zygote->pid > 0) reaper_.signal(zygote->pid, SIGKILL);
  });
  (void)loop_.watch(zygote->control.get(), EPOLLIN,
                    [this, zygote](std::uint32_t) { read(zygote); });
}

void Zygotes::read(const std::shared_ptr<Zygote>& zygote) {
  wire::ForkReply reply;
  Result<Packet> packet = receive_packet(zygote->control.get(), sizeof reply, 0, Wait::dont);
  if (!packet && packet.error().code == Code::timed_out) return;
  if (!packet || packet->bytes.size() != sizeof reply) {
    loop_.unwatch(zygote->control.get());  // the reaper tells the rest
    return;
  }
  std::memcpy(&reply, packet->bytes.data(), sizeof reply);
  if (reply.request == 0) return became_warm(zygote);
  auto found = zygote->waiting.find(reply.request);
  if (found == zygote->waiting.end()) return;
  Forked forked = std::move(found->second);
  zygote->waiting.erase(found);
  if (reply.error != 0) forked(Error::from_errno("forking a worker", reply.error));
  else forked(ForkedWorker{reply.pid > 0 ? reply.pid : packet->pid, lease(zygote->alive)});
  // An old one leaves when its last answer is in.
  if (zygote != slot(zygote->key).current && zygote->waiting.empty()) retire(zygote);
}

void Zygotes::became_warm(const std::shared_ptr<Zygote>& zygote) {
  ZygoteSlot& mine = slot(zygote->key);
  if (mine.next != zygote) return;
  loop_.cancel(zygote->timer);
  zygote->warm = true;
  std::shared_ptr<Zygote> old = std::move(mine.current);
  mine.current = std::move(mine.next);
  mine.next.reset();
  mine.failures = 0;
  mine.was_warm = true;
  if (old && old->waiting.empty()) retire(old);
  auto listeners = std::move(mine.listeners);
  mine.listeners.clear();
  for (auto& told : listeners) told(ok());
  while (!mine.queue.empty() && mine.current) {
    Queued queued = std::move(mine.queue.front());
    mine.queue.pop_front();
    send(mine, std::move(queued));
  }
}

void Zygotes::retire(const std::shared_ptr<Zygote>& zygote) {
  // It exits when its control socket ends.
  if (!zygote->control) return;
  loop_.unwatch(zygote->control.get());
  zygote->control.reset();
}

void Zygotes::fail_queue(ZygoteSlot& failed, const Error& error) {
  auto queue = std::move(failed.queue);
  failed.queue.clear();
  for (Queued& queued : queue) queued.forked(error);
  auto listeners = std::move(failed.listeners);
  failed.listeners.clear();
  for (auto& told : listeners) told(error);
}

void Zygotes::died(const std::shared_ptr<Zygote>& zygote) {
  ZygoteSlot& mine = slot(zygote->key);
  loop_.cancel(zygote->timer);
  if (zygote->control) loop_.unwatch(zygote->control.get());
  zygote->control.reset();
  auto waiting = std::move(zygote->waiting);
  zygote->waiting.clear();
  for (auto& [request, forked] : waiting)
    forked(Error{Code::unavailable, "the zygote died before it answered"});
  const bool serving = mine.current == zygote;
  const bool starting = mine.next == zygote;
  if (serving) mine.current.reset();
  if (starting) mine.next.reset();
  if (stopping_ || (!serving && !starting)) return;
  const ZygoteKey key = zygote->key;
  log_warning("a zygote (" + std::string(to_string(key.variant)) +
              (key.environment.empty() ? "" : " of " + key.environment) +
              (key.policy == Policy::native ? "" : ", " + std::string(to_string(key.policy))) +
              ") died" + (starting ? " while it warmed up" : ""));
  if (starting && ++mine.failures >= kMaxFailures)
    fail_queue(
        mine,
        Error{.code = Code::unavailable,
              .message = key.environment.empty()
                             ? "no Python can be started from the image"
                             : "no Python can be started with the environment: the server's log "
                               "says why",
              .remedy =
                  key.environment.empty()
                      ? "check the image: ./dev image --check"
                      : "make it again: vitrine image build --with ... --name " + key.environment});
  const bool optional = !key.environment.empty() || key.policy != Policy::native;
  if (optional && mine.failures >= kMaxFailures) {
    mine.failures = 0;  // started again when somebody asks again
    return;
  }
  if (mine.next) return;
  const auto delay = std::chrono::milliseconds(starting ? 50u << std::min(mine.failures, 7u) : 0u);
  loop_.after(delay, [this, key] {
    if (!slot(key).next) start(key);
  });
}

void Zygotes::send(ZygoteSlot& to, Queued queued) {
  Zygote& zygote = *to.current;
  queued.request.request = ++last_request_;
  const std::string_view bytes(reinterpret_cast<const char*>(&queued.request),
                               sizeof queued.request);
  if (Status s = send_packet(zygote.control.get(), bytes, queued.fds.in_order(), Wait::dont); !s) {
    loop_.after({}, [forked = std::move(queued.forked), error = s.error()] { forked(error); });
    return;
  }
  zygote.waiting[queued.request.request] = std::move(queued.forked);
  ++zygote.forks;
  if (*zygote.alive >= config_.children_per_zygote && !to.next) rotate_when_calm(to, zygote);
}

void Zygotes::rotate_when_calm(ZygoteSlot& to, const Zygote& zygote) {
  loop_.cancel(std::exchange(to.rotation, 0));
  if (*zygote.alive >= kMostChildren * config_.children_per_zygote) return start(zygote.key);
  to.rotation = loop_.after(kCalm, [this, key = zygote.key] {
    ZygoteSlot& later = slot(key);
    later.rotation = 0;
    if (later.current && !later.next && *later.current->alive >= config_.children_per_zygote)
      start(key);
  });
}

void Zygotes::fork(const ZygoteKey& key, const wire::ForkRequest& request, ForkFds fds,
                   Forked forked) {
  want(key);
  ZygoteSlot& to = slot(key);
  Queued queued{request, std::move(fds), std::move(forked)};
  if (stopping_) refuse(std::move(queued));
  else if (to.current) send(to, std::move(queued));
  else {
    queued.place = ++last_place_;
    if (to.was_warm && request.rehearse == 0)
      loop_.after(kPatience, [this, key, place = queued.place] { give_up(key, place); });
    to.queue.push_back(std::move(queued));
  }
}

void Zygotes::give_up(const ZygoteKey& key, std::uint64_t place) {
  std::deque<Queued>& queue = slot(key).queue;
  const auto found =
      std::ranges::find_if(queue, [&](const Queued& one) { return one.place == place; });
  if (found == queue.end()) return;
  const Forked forked = std::move(found->forked);
  queue.erase(found);
  forked(Error{.code = Code::unavailable,
               .message = "the warm interpreter has ended and is being started again",
               .remedy = "try again in a second"});
}

void Zygotes::refuse(Queued queued) {
  loop_.after({}, [forked = std::move(queued.forked)] {
    forked(Error{Code::unavailable, "the keeper is stopping"});
  });
}

void Zygotes::stop() {
  stopping_ = true;
  for (auto& [key, one] : slots_) {
    for (Queued& queued : std::exchange(one.queue, {})) refuse(std::move(queued));
    if (key.environment.empty()) continue;
    for (auto& told : std::exchange(one.listeners, {}))
      loop_.after({}, [told] { told(Error{Code::unavailable, "the keeper is stopping"}); });
  }
  for (auto& [key, one] : slots_)
    for (const auto& zygote : {one.current, one.next})
      if (zygote && zygote->pid > 0) reaper_.signal(zygote->pid, SIGKILL);
}

}  // namespace vitrine::keeper
