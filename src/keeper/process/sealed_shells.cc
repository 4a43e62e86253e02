// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/sealed_shells.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "base/packet.h"
#include "jail/worker.h"
#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::milliseconds kBuildTime{15'000};
// init, the X server with the helpers that it starts, the screen helper.
constexpr std::uint32_t kOwnProcesses = 10;

Error died_while_built() {
  return Error{.code = Code::unavailable, .message = "the shell died", .remedy = "try again"};
}

}  // namespace

SealedShells::SealedShells(Loop& loop, Reaper& reaper, jail::CgroupTree* cgroups,
                           BuilderConfig config)
    : loop_(loop),
      reaper_(reaper),
      cgroups_(cgroups),
      config_(std::move(config)),
      requests_(loop, builder_) {
  if (cgroups_ == nullptr) return;
  Status delegated = cgroups_->delegate(config_.ids.first);
  if (!delegated)
    log_warning("sessions join their cgroups the slow way: " + delegated.error().describe());
  delegated_ = static_cast<bool>(delegated);
}

Status SealedShells::start() {
  const auto placed = [this](int pid) { return delegated_ ? cgroups_->join_core(pid) : ok(); };
  Result<Builder> builder = start_builder(config_, builder_.outer_init, placed);
  if (!builder) return std::move(builder.error());
  if (builder_.outer_init < 0)
    reaper_.watch(builder->outer_init, [this](Ending) { outer_init_died(); });
  builder_ = std::move(*builder);
  reaper_.watch(builder_.pid, [this](Ending) { builder_died(); });
  return loop_.watch(builder_.control.get(), EPOLLIN, [this](std::uint32_t) { read_builder(); });
}

void SealedShells::outer_init_died() {
  // Every shell and zygote died with it. The builder is of no use without; its end starts anew.
  builder_.outer_init = -1;
  if (stopping_) return;
  log_error("the outer namespaces are gone, and every session with them; starting anew");
  reaper_.signal(builder_.pid, SIGKILL);
}

void SealedShells::builder_died() {
  if (builder_.control) loop_.unwatch(builder_.control.get());
  builder_.control.reset();
  builder_.pid = -1;
  if (stopping_) return;
  log_warning("the builder died; starting another");
  requests_.window().close();
  requests_.window().clear();
  // What it had not cloned yet will never come; what it had goes on by itself.
  std::vector<std::uint64_t> lost;
  for (auto& [id, build] : building_)
    if (build.shell->init < 0) lost.push_back(id);
  for (std::uint64_t id : lost) fail(id, Error{Code::unavailable, "the builder died"});
  requests_.builder_died();
  restart();
}

void SealedShells::restart() {
  Status started = start();
  if (started) return requests_.window().open();
  log_error(started.error().describe());
  requests_.window().flush();  // nobody waits for long
  loop_.after(std::chrono::milliseconds(200), [this] { restart(); });
}

Result<std::unique_ptr<Shell>> SealedShells::prepare(std::uint64_t id, const Limits& limits) {
  auto shell = std::make_unique<Shell>();
  shell->id = id;
  shell->limits = limits;
  if (free_slots_.empty()) {
    if (config_.ids.count > 1 && next_slot_ >= slots_of(config_.ids))
      return Error{Code::over_limit, "no user id is left for another session"};
    shell->slot = next_slot_++;
  } else {
    shell->slot = free_slots_.back();
    free_slots_.pop_back();
  }
  if (config_.ids.count > 1) shell->user = config_.ids.first + 1 + shell->slot;
  if (cgroups_ == nullptr) return shell;
  Result<jail::Cgroup> cgroup = cgroups_->make("s" + std::to_string(id));
  if (!cgroup) {
    free_slots_.push_back(shell->slot);
    return std::move(cgroup.error());
  }
  shell->cgroup = std::move(*cgroup);
  // Files live in memory: their quota comes on top, so that they do not eat the other one.
  const jail::CgroupHost& host = cgroups_->host();
  jail::CgroupLimits wanted;
  if (host.memory) wanted.memory_bytes = limits.memory_bytes + limits.disk_bytes;
  if (host.pids) wanted.pids = limits.processes + kOwnProcesses;
  wanted.worker_pids = limits.processes;
  if (host.cpu) wanted.cpu_permille = limits.cpu_permille;
  if (Status s = shell->cgroup->set_limits(wanted); !s) {
    clean_up(std::move(shell), {});
    return std::move(s.error());
  }
  return shell;
}

void SealedShells::build(const Limits& limits, Built built) {
  requests_.window().enter([this, limits, built = std::move(built)] { build_now(limits, built); });
}

void SealedShells::build_now(const Limits& limits, Built built) {
  const std::uint64_t id = requests_.next_id();
  auto later = [&](Error error) {
    requests_.window().leave();
    loop_.after({}, [built = std::move(built), error = std::move(error)] { built(error); });
  };
  if (!builder_.control) return later(Error{Code::unavailable, "the builder is starting"});
  Result<std::unique_ptr<Shell>> shell = prepare(id, limits);
  if (!shell) return later(std::move(shell.error()).as_ours().during("preparing a shell"));
  Result<FdPair> channel = make_socketpair();
  if (!channel) {
    clean_up(std::move(*shell), {});
    return later(std::move(channel.error()));
  }
  BuildShell request{.shell = id,
                     .slot = (*shell)->slot,
                     .disk_bytes = limits.disk_bytes,
                     .inodes = inodes_for(limits),
                     .fail_at = faults_ ? faults_() : 0};
  std::vector<int> fds{channel->second.get()};
  jail::CgroupEntrance entrance;
  if (delegated_) {
    Result<jail::CgroupEntrance> opened =
        (*shell)->cgroup->open_entrance(jail::Cgroup::Member::init);
    if (!opened) {
      clean_up(std::move(*shell), {});
      return later(std::move(opened.error()));
    }
    entrance = std::move(*opened);
    request.has_cgroup = static_cast<bool>(entrance.into);
    if (entrance.into) fds.push_back(entrance.into.get());
    for (const Fd& join_fd : entrance.join_fds) fds.push_back(join_fd.get());
  }
  Status sent = send_build_shell(builder_.control.get(), request, fds);
  if (sent)
    sent =
        loop_.watch(channel->first.get(), EPOLLIN, [this, id](std::uint32_t) { read_channel(id); });
  if (!sent) {
    clean_up(std::move(*shell), {});
    return later(std::move(sent.error()).during("asking the builder"));
  }
  building_[id] = {.shell = std::move(*shell),
                   .channel = std::move(channel->first),
                   .built = std::move(built),
                   .timer = loop_.after(kBuildTime, [this, id] {
                     fail(id, Error{Code::timed_out, "building a shell took too long"});
                   })};
}

void SealedShells::read_builder() {
  Result<Cloned> cloned = receive_cloned(builder_.control.get());
  if (!cloned) {
    if (cloned.error().code == Code::timed_out) return;
    loop_.unwatch(builder_.control.get());  // the reaper tells the rest
    reaper_.signal(builder_.pid, SIGKILL);
    return;
  }
  requests_.window().leave();
  take_answer(std::move(*cloned));
}

void SealedShells::take_answer(Cloned cloned) {
  if (requests_.take_answer(cloned)) return;
  auto found = building_.find(cloned.what);
  if (found != building_.end()) return init_cloned(found->second, cloned);
  if (cloned.pid > 0) {  // given up meanwhile
    reaper_.watch(cloned.pid, [](Ending) {});
    reaper_.signal(cloned.pid, SIGKILL);
  }
}

void SealedShells::init_cloned(Build& build, const Cloned& cloned) {
  const std::uint64_t id = build.shell->id;
  if (cloned.pid < 0) return fail(id, last_words(build, cloned.error));
  Shell* shell = build.shell.get();
  shell->init = cloned.pid;
  reaper_.watch(shell->init, [this, id, shell](Ending) {
    shell->init_gone = true;
    if (building_.contains(id)) return fail(id, last_words(building_.at(id), died_while_built()));
    if (auto told = std::exchange(shell->on_init_gone, {})) told();  // it may end the shell
  });
  if (shell->cgroup && !delegated_)
    if (Status s = shell->cgroup->join_init(shell->init); !s)
      return fail(id, last_words(build, std::move(s.error()).during("its cgroup")));
  if (!send_packet(build.channel.get(), "go", {}, Wait::dont))
    return fail(id, last_words(build, died_while_built()));
}

void SealedShells::read_channel(std::uint64_t id) {
  Build& build = building_.at(id);
  Result<Packet> packet = receive_packet(build.channel.get(), 4096, 3, Wait::dont);
  if (!packet) {
    if (packet.error().code == Code::timed_out) return;
    if (packet.error().code != Code::unavailable) return fail(id, std::move(packet.error()));
    if (build.ready) return finish(id);  // exec closed the channel: init stands
    // Where nothing was cloned, the builder's own word says why; it may come after this.
    if (build.shell->init < 0) return loop_.unwatch(build.channel.get());
    return fail(id, last_words(build, died_while_built()));
  }
  if (!packet->bytes.starts_with('\0'))
    return fail(id, Error::unpack(std::string_view(packet->bytes).substr(1)));
  Display& display = build.shell->display;
  constexpr std::size_t kReady = 6;
  if (packet->fds.size() < 2 || packet->bytes.size() != kReady + display.cookie.size())
    return fail(id, Error{Code::internal, "the shell has no home"});
  build.shell->home = std::move(packet->fds[0]);
  build.shell->scratch = jail::filesystem_id(build.shell->home.get());
  display.listener = std::move(packet->fds[1]);
  std::copy_n(packet->bytes.begin() + kReady, display.cookie.size(), display.cookie.begin());
  if (packet->fds.size() > 2)
    build.shell->ruleset = std::make_shared<const Fd>(std::move(packet->fds[2]));
  build.ready = true;
}

// Why a shell that is gone could not be built, if it could still tell. A peer that died before it
// read everything is told first (ECONNRESET), and what it said after that; so look more than once.
Error SealedShells::last_words(const Build& build, Error otherwise) {
  for (int look = 0; look < 3; ++look) {
    Result<Packet> packet = receive_packet(build.channel.get(), 4096, 3, Wait::dont);
    if (packet && !packet->bytes.starts_with('\0'))
      return Error::unpack(std::string_view(packet->bytes).substr(1));
  }
  return otherwise;
}

void SealedShells::finish(std::uint64_t id) {
  Build build = std::move(building_.at(id));
  building_.erase(id);
  loop_.cancel(build.timer);
  loop_.unwatch(build.channel.get());
  Shell* shell = build.shell.get();
  if (shell->cgroup && cgroups_->host().memory) {
    Result<Fd> oom = shell->cgroup->oom_event();
    if (!oom) {
      clean_up(std::move(build.shell),
               [built = std::move(build.built), error = oom.error()] { built(error); });
      return;
    }
    shell->oom = std::move(*oom);
  }
  if (Status s = watch_display(*shell); !s) {
    clean_up(std::move(build.shell),
             [built = std::move(build.built), error = s.error()] { built(error); });
    return;
  }
  shells_[id] = std::move(build.shell);
  build.built(shell);
}

void SealedShells::fail(std::uint64_t id, Error error) {
  Build build = std::move(building_.at(id));
  building_.erase(id);
  loop_.cancel(build.timer);
  loop_.unwatch(build.channel.get());
  clean_up(std::move(build.shell),
           [built = std::move(build.built), error = std::move(error)]() mutable {
             built(std::move(error).as_ours().during("building a shell"));
           });
}

Result<Fd> SealedShells::join_fd(const Shell& shell) const {
  Fd init(static_cast<int>(::syscall(SYS_pidfd_open, shell.init, 0)));
  if (!init) return Error::from_errno("opening a shell");
  return init;
}

Status SealedShells::place_worker(Shell& shell, int pid) {
  if (!shell.cgroup || delegated_) return ok();
  Status joined = shell.cgroup->join_worker(pid);
  if (!joined) return std::move(joined.error()).during("its cgroup");
  return ok();
}

void SealedShells::end_inside(Shell& shell) { reaper_.signal(shell.init, SIGKILL); }

void SealedShells::retire(Shell* shell, std::function<void()> gone) {
  auto found = shells_.find(shell->id);
  std::unique_ptr<Shell> owned = std::move(found->second);
  shells_.erase(found);
  clean_up(std::move(owned), std::move(gone));
}

void SealedShells::clean_up(std::unique_ptr<Shell> shell, std::function<void()> gone) {
  if (shell->display.start == Display::Start::cloning) {
    // The builder is making a process in its cgroup: nothing can be removed until we know which.
    ++retiring_;
    Shell& waiting = *shell;
    auto held = std::make_shared<std::unique_ptr<Shell>>(std::move(shell));
    waiting.display.after_clone = [this, held, gone = std::move(gone)] {
      --retiring_;
      clean_up(std::move(*held), gone);
    };
    return;
  }
  if (shell->oom) loop_.unwatch(shell->oom.get());
  shell->oom.reset();
  shell->home.reset();
  shell->network = {};  // they hold its namespace
  shell->entrance.reset();
  shell->meters.reset();
  Display& display = shell->display;
  display.on_change = {};
  loop_.cancel(display.timer);
  for (Fd* watched : {&display.listener, &display.channel}) {
    if (*watched) loop_.unwatch(watched->get());
    watched->reset();
  }
  display.framebuffer.reset();
  display.helper.reset();
  for (auto& waiting : std::exchange(display.waiting, {}))
    waiting(Error{Code::unavailable, "the session was ended meanwhile"});
  ++retiring_;
  auto finish = [this, gone = std::move(gone)](Shell& last) {
    --retiring_;
    if (last.cgroup)
      if (Status s = last.cgroup->remove(); !s)
        log_error(std::move(s.error()).during("removing a session's cgroup").describe());
    free_slots_.push_back(last.slot);
    if (gone) loop_.after({}, gone);
  };
  // Everything inside dies with init, which is reaped last, but for the X server beside it.
  std::vector<int> waiting;
  if (shell->init >= 0 && !shell->init_gone) waiting.push_back(shell->init);
  if (shell->display.pid >= 0) waiting.push_back(shell->display.pid);
  if (waiting.empty()) return finish(*shell);
  for (int pid : waiting) reaper_.signal(pid, SIGKILL);
  if (shell->cgroup) (void)shell->cgroup->kill_all();
  std::shared_ptr<Shell> last = std::move(shell);
  auto left = std::make_shared<std::size_t>(waiting.size());
  for (int pid : waiting)
    reaper_.watch(pid, [finish, last, left](Ending) {
      if (--*left == 0) finish(*last);
    });
}

Status SealedShells::watch_display(Shell& shell) {
  return loop_.watch(shell.display.listener.get(), EPOLLIN, [this, &shell](std::uint32_t) {
    loop_.unwatch(shell.display.listener.get());  // a server accepts from now on, or nobody
    if (display_wanted_) display_wanted_(shell);
  });
}

void SealedShells::stop() {
  stopping_ = true;
  reaper_.signal(builder_.pid, SIGKILL);
  reaper_.signal(builder_.outer_init, SIGKILL);
}

}  // namespace vitrine::keeper
