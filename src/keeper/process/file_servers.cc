// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/file_servers.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/packet.h"
#include "keeper/log.h"
#include "keeper/process/file_server.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::milliseconds kRestartPause{50};
constexpr int kCleaningLives = 5;

Error gone() { return Error{Code::unavailable, "the session was ended meanwhile"}; }

// The name that a server may have left behind if it died while it replaced a file.
std::optional<std::string> left_behind(const wire::Request& request) {
  const auto* commit = std::get_if<wire::CommitFile>(&request);
  if (commit == nullptr) return std::nullopt;
  const std::size_t slash = commit->path.rfind('/');
  if (slash == std::string::npos) return commit->hidden;
  return commit->path.substr(0, slash + 1) + commit->hidden;
}

}  // namespace

FileServers::~FileServers() {
  for (const auto& server : servers_)
    if (server->socket) loop_.unwatch(server->socket.get());
}

Status FileServers::start() {
  for (std::size_t i = 0; i < kServers; ++i) {
    servers_.push_back(std::make_unique<Server>());
    if (Status s = spawn(*servers_.back()); !s) return s;
  }
  return ok();
}

std::vector<int> FileServers::pids() const {
  std::vector<int> all;
  for (const auto& server : servers_)
    if (server->pid > 0) all.push_back(server->pid);
  return all;
}

Status FileServers::spawn(Server& server) {
  Result<FdPair> pair = make_socketpair();
  if (!pair) return std::move(pair.error());
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno("forking a file server");
  if (pid == 0) run_file_server(pair->second.get());
  server.pid = pid;
  server.socket = std::move(pair->first);
  reaper_.watch(pid, [this, &server](Ending) { died(server); });
  return loop_.watch(server.socket.get(), EPOLLIN,
                     [this, &server](std::uint32_t) { read(server); });
}

void FileServers::spawn_later(Server& server) {
  loop_.after(kRestartPause, [this, &server] {
    if (stopping_) return;
    if (Status s = spawn(server); !s) {
      log_error(s.error().describe());
      if (server.pid > 0) return static_cast<void>(reaper_.signal(server.pid, SIGKILL));
      return spawn_later(server);
    }
    dispatch();
  });
}

void FileServers::died(Server& server) {
  server.pid = -1;
  if (server.socket) loop_.unwatch(server.socket.get());
  server.socket.reset();
  std::optional<Job> job = std::exchange(server.job, std::nullopt);
  if (job && --job->lives > 0) return_job(*server.queue, *std::exchange(job, std::nullopt));
  if (job)
    if (const std::optional<std::string> hidden = left_behind(job->request))
      return_job(*server.queue, {.request = wire::RemoveFile{.path = *hidden},
                                 .answered = [](const auto&) {},
                                 .lives = kCleaningLives});
  if (server.queue) leave(server);
  if (!stopping_) {
    log_warning("a file server died; starting another");
    spawn_later(server);
  }
  if (job)
    job->answered(Error{.code = Code::unavailable,
                        .message = "the process that does file requests died",
                        .remedy = "try again"});
  dispatch();
}

void FileServers::return_job(Queue& queue, Job job) {
  queue.jobs.push_front(std::move(job));
  ++waiting_;
}

void FileServers::submit(const std::shared_ptr<Queue>& queue, Job job) {
  if (queue->closed || stopping_) return refuse_later(std::move(job));
  if (waiting_ >= kMaxWaiting)
    return job.answered(Error{.code = Code::unavailable,
                              .message = "too many file requests at once",
                              .remedy = "try again later"});
  queue->jobs.push_back(std::move(job));
  ++waiting_;
  if (!queue->running && queue->jobs.size() == 1) ready_.push_back(queue);
  dispatch();
}

void FileServers::refuse_later(Job job) {
  auto held = std::make_shared<Job>(std::move(job));
  loop_.after({}, [held] { held->answered(gone()); });
}

void FileServers::close(const std::shared_ptr<Queue>& queue, std::function<void()> quiet) {
  queue->closed = true;
  std::erase(ready_, queue);
  waiting_ -= queue->jobs.size();
  for (Job& job : std::exchange(queue->jobs, {})) refuse_later(std::move(job));
  for (const auto& server : servers_)
    if (server->queue == queue && server->job)
      refuse_later(*std::exchange(server->job, std::nullopt));
  if (!quiet) return;
  if (queue->running) return queue->quiet.push_back(std::move(quiet));
  quiet();
}

void FileServers::dispatch() {
  for (const auto& server : servers_) {
    if (server->queue || !server->socket) continue;
    if (ready_.empty()) return;
    std::shared_ptr<Queue> queue = std::move(ready_.front());
    ready_.pop_front();
    send(*server, std::move(queue));
  }
}

void FileServers::send(Server& server, std::shared_ptr<Queue> queue) {
  Job job = std::move(queue->jobs.front());
  queue->jobs.pop_front();
  --waiting_;
  queue->running = true;
  std::vector<int> fds{queue->home.directory};
  if (job.file) fds.push_back(job.file.get());
  const std::string bytes = encode_file_request({.user = queue->home.user, .request = job.request});
  const Status sent = send_packet(server.socket.get(), bytes, fds, Wait::dont);
  if (!sent) {  // it is dead already: the job was not begun
    ++job.lives;
    reaper_.signal(server.pid, SIGKILL);
  }
  server.queue = std::move(queue);
  server.job = std::move(job);
}

// The server has done with its job: the sandbox has its next turn behind all others.
void FileServers::leave(Server& server) {
  const std::shared_ptr<Queue> queue = std::exchange(server.queue, nullptr);
  queue->running = false;
  if (!queue->jobs.empty()) ready_.push_back(queue);
  for (const auto& quiet : std::exchange(queue->quiet, {})) quiet();
}

void FileServers::read(Server& server) {
  Result<Packet> packet = receive_packet(server.socket.get(), kMaxFileReply, 1, Wait::dont);
  if (!packet && packet.error().code == Code::timed_out) return;
  Result<FileReply> reply = Error{Code::internal, "a file server sent nonsense"};
  if (packet) reply = decode_file_reply(packet->bytes);
  if (!reply || !server.queue) {  // it died, or might as well have
    loop_.unwatch(server.socket.get());
    reaper_.signal(server.pid, SIGKILL);  // its end answers
    return;
  }
  std::optional<Job> job = std::exchange(server.job, std::nullopt);
  if (job && reply->more) return_job(*server.queue, *std::exchange(job, std::nullopt));
  leave(server);
  if (job) {
    Reply answer{.reply = std::move(reply->reply)};
    if (!packet->fds.empty()) answer.file = std::move(packet->fds.front());
    job->answered(std::move(answer));
  }
  dispatch();
}

void FileServers::stop() {
  stopping_ = true;
  for (const auto& server : servers_)
    if (server->pid > 0) reaper_.signal(server->pid, SIGKILL);
}

}  // namespace vitrine::keeper
