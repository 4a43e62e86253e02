// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/worker_starter.h"

#include <sys/epoll.h>

#include <csignal>
#include <utility>

#include "base/packet.h"
#include "keeper/process/entrance.h"
#include "wire/frame.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::milliseconds kStartTime{15'000};

// A fork that the cgroup refuses costs its session time; one that RLIMIT_NPROC refuses costs little but
// leaves work to the kernel's own threads, which everybody waits for. So that is only the second wall.
std::uint64_t most_processes(const Shell& shell) {
  const std::uint64_t most = shell.limits.processes;
  return shell.cgroup && shell.cgroup->limits_worker_pids() ? 2 * most + 64 : most;
}

std::uint8_t flag(bool set) { return set ? std::uint8_t{1} : std::uint8_t{0}; }

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

void WorkerStarter::start(Shell* shell, const SandboxSpec& spec, How how, Answer<Started> started) {
  auto start = std::make_shared<Start>();
  start->sandbox = std::make_unique<ProcessSandbox>(parts_, *shell, spec);
  start->source = how.source;
  start->started = std::move(started);
  if (shell->init_gone)  // its number may be somebody else's by now
    return abandon(start, Error{Code::unavailable, "the shell died before its worker started"});
  const bool limited = static_cast<bool>(shell->oom);  // else its cgroup does not limit memory
  wire::ForkRequest fork{
      .disk_bytes = shell->limits.disk_bytes,
      .inodes = inodes_for(shell->limits),
      .processes = most_processes(*shell),
      .data_bytes = limited ? 0 : shell->limits.memory_bytes,
      .scratch = shell->scratch,
      .uses = shell->uses,
      .user = parts_.shells.level() == Level::container ? shell->user.value() : 0,
      .fail_at = faults_ ? faults_() : 0,
      .recycled = flag(how.shelter == Shelter::recycled),
      .rehearse = flag(how.rehearse == Rehearse::yes)};
  Result<ForkFds> fds = prepare_descriptors(*start->sandbox, fork);
  if (!fds) return abandon(start, std::move(fds.error()));
  ++shell->uses;
  start->timer = parts_.loop.after(kStartTime, [this, start] {
    abandon(start, Error{Code::timed_out, "starting a worker took too long"});
  });
  (void)parts_.loop.watch(start->sandbox->worker().socket.get(), EPOLLIN,
                          [this, start](std::uint32_t) { worker_spoke(start); });
  shell->on_init_gone = [this, start] {
    abandon(start, Error{Code::unavailable, "the shell died while its worker started"});
  };
  zygotes_.fork(key_for(spec), fork, std::move(*fds), [this, start](Result<ForkedWorker> forked) {
    worker_forked(start, std::move(forked));
  });
}

ZygoteKey WorkerStarter::key_for(const SandboxSpec& spec) {
  const ZygoteKey own(spec.variant, spec.environment, spec.policy);
  const ZygoteKey plain(spec.variant, spec.environment);
  if (own == plain || zygotes_.warm(own)) return own;
  zygotes_.want(own);
  return plain;
}

Result<ForkFds> WorkerStarter::prepare_descriptors(ProcessSandbox& sandbox,
                                                   wire::ForkRequest& request) {
  const Shell& shell = sandbox.shell();
  Worker& worker = sandbox.worker();
  Result<FdPair> socket = make_socketpair();
  Result<FdPair> out = make_pipe();
  Result<FdPair> err = make_pipe();
  if (!socket || !out || !err)
    return Error{Code::over_limit, "no descriptors are left for a worker"};
  worker.socket = std::move(socket->first);
  worker.out = std::move(out->first);
  worker.err = std::move(err->first);
  ForkFds fds{.entrance = shell.entrance,
              .socket = std::move(socket->second),
              .out = std::move(out->second),
              .err = std::move(err->second),
              .ruleset = shell.ruleset};
  if (!fds.entrance) {
    Result<std::shared_ptr<const Entrance>> opened = open_entrance(parts_.shells, shell);
    if (!opened) return std::move(opened.error());
    fds.entrance = std::move(*opened);
  }
  request.has_ruleset = flag(fds.ruleset != nullptr);
  request.has_cgroup = flag(static_cast<bool>(fds.entrance->cgroups.into));
  return fds;
}

void WorkerStarter::worker_forked(const std::shared_ptr<Start>& start,
                                  Result<ForkedWorker> forked) {
  if (!start->sandbox) {  // abandoned meanwhile; its shell is being taken down
    if (!forked) return;
    parts_.reaper.watch(forked->pid, [lease = forked->lease](Ending) {});
    parts_.reaper.signal(forked->pid, SIGKILL);
    return;
  }
  if (!forked) return abandon(start, std::move(forked.error()));
  Worker& worker = start->sandbox->worker();
  worker.pid = forked->pid;
  worker.lease = forked->lease;
  parts_.reaper.watch(forked->pid, [this, start](Ending) {
    start->sandbox->worker().pid = -1;
    abandon(start, last_words(*start, died_while_started()));
  });
  if (Status s = parts_.shells.place_worker(start->sandbox->shell(), forked->pid); !s)
    return abandon(start, last_words(*start, std::move(s.error())));
  start->joined = true;
  conclude(start);
}

void WorkerStarter::worker_spoke(const std::shared_ptr<Start>& start) {
  const int socket = start->sandbox->worker().socket.get();
  Result<Packet> packet = receive_packet(socket, wire::kMaxFrame, 0, Wait::dont);
  if (!packet) {
    if (packet.error().code == Code::timed_out) return;
    // Before the zygote's answer, that one knows better.
    if (!start->joined) return parts_.loop.unwatch(socket);
    return abandon(start, died_while_started());
  }
  if (Result<wire::Frame> frame = wire::decode_frame(packet->bytes);
      frame && frame->type == wire::Type::ready) {
    start->ready = true;
    parts_.loop.unwatch(socket);
    return conclude(start);
  }
  abandon(start, start_failure(packet->bytes,
                               Error{Code::internal, "the worker sent something else than ready"}));
}

// Why a worker that is gone did not start, if it could still tell.
Error WorkerStarter::last_words(const Start& start, Error otherwise) {
  Result<Packet> packet =
      receive_packet(start.sandbox->worker().socket.get(), wire::kMaxFrame, 0, Wait::dont);
  return packet ? start_failure(packet->bytes, std::move(otherwise)) : otherwise;
}

void WorkerStarter::conclude(const std::shared_ptr<Start>& start) {
  if (!start->joined || !start->ready) return;
  parts_.loop.cancel(start->timer);
  start->sandbox->watch_worker(pool_);
  Answer<Started> started = std::move(start->started);
  started(Started{std::move(start->sandbox), start->source});
}

void WorkerStarter::abandon(const std::shared_ptr<Start>& start, Error error) {
  if (!start->sandbox) return;
  parts_.loop.cancel(start->timer);
  std::unique_ptr<ProcessSandbox> sandbox = std::move(start->sandbox);
  Worker& worker = sandbox->worker();
  if (worker.socket) parts_.loop.unwatch(worker.socket.get());
  sandbox->detach();
  if (worker.pid > 0) parts_.reaper.watch(worker.pid, [lease = worker.lease](Ending) {});
  Shell& shell = sandbox->shell();
  sandbox.reset();
  parts_.shells.retire(&shell,
                       [started = std::move(start->started), error = std::move(error)]() mutable {
                         started(std::move(error).as_ours().during("starting a worker"));
                       });
}

}  // namespace vitrine::keeper
