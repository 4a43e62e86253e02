// SPDX-License-Identifier: Apache-2.0
#include "keeper/control.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/packet.h"
#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

constexpr std::size_t kMaxUnsent = 16'384;  // a few for each of thousands of sessions
constexpr std::size_t kMaxConnections = 64;
constexpr int kRequestsPerTurn = 64;
constexpr std::chrono::milliseconds kAcceptPause{100};

// A descriptor of a reply, and what it is; -1 = there is none.
void name(wire::FdRoles& roles, std::vector<int>& fds, wire::FdRole role, int fd) {
  if (fd < 0) return;
  roles.roles.push_back(role);
  fds.push_back(fd);
}

}  // namespace

Status Control::listen(const std::string& path) {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return Error::from_errno("making the control socket");
  if (Status s = bind(socket.get(), path); !s)
    return std::move(s.error()).with_remedy(
        "name a path that is free, in a directory that you may write to, with --control");
  path_ = path;
  if (client_ != ::geteuid() && ::chown(path.c_str(), client_, static_cast<gid_t>(-1)) != 0)
    return Error::from_errno("giving the control socket to its client");
  if (::listen(socket.get(), 16) != 0) return Error::from_errno("listening");
  listener_ = std::move(socket);
  return watch_listener();
}

Status Control::bind(int socket, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{Code::invalid_argument, "the control socket's path has more than " +
                                             std::to_string(sizeof address.sun_path - 1) +
                                             " bytes"};
  std::strcpy(address.sun_path, path.c_str());
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  const auto try_to_bind = [&] {
    const mode_t before = ::umask(0177);
    const int bound = ::bind(socket, where, sizeof address);
    ::umask(before);
    return bound == 0;
  };
  if (try_to_bind()) return ok();
  if (errno != EADDRINUSE) return Error::from_errno("binding the control socket");
  // Only a socket that nobody listens to refuses so.
  Fd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  struct stat info {};
  const bool abandoned = ::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) && probe &&
                         ::connect(probe.get(), where, sizeof address) != 0 &&
                         errno == ECONNREFUSED;
  if (!abandoned) return Error{Code::conflict, "the control socket's path is in use"};
  if (::unlink(path.c_str()) != 0 || !try_to_bind())
    return Error::from_errno("replacing an abandoned control socket");
  return ok();
}

void Control::unlisten() {
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

Status Control::watch_listener() {
  return loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
}

void Control::accept() {
  Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) return;
    // Out of descriptors or memory. The client waits in the queue; asking at once would only spin.
    log_warning(Error::from_errno("accepting a client").describe());
    loop_.unwatch(listener_.get());
    loop_.after(kAcceptPause, [this] { (void)watch_listener(); });
    return;
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      (peer.uid != ::geteuid() && peer.uid != 0 && peer.uid != client_)) {
    log_warning("refused a connection of another user");
    return;
  }
  if (connections_.size() >= kMaxConnections) {
    log_warning("refused a connection: too many");
    return;
  }
  add(std::move(socket));
}

void Control::add(Fd socket) {
  const std::uint64_t id = ++last_id_;
  connections_[id] = {.socket = std::move(socket)};
  watch(id);
}

void Control::watch(std::uint64_t id) {
  Connection& connection = connections_.at(id);
  const std::uint32_t events = connection.unsent.empty() ? EPOLLIN : EPOLLOUT;
  (void)loop_.watch(connection.socket.get(), events, [this, id](std::uint32_t) {
    if (!connections_.at(id).unsent.empty()) flush(id);
    if (connections_.contains(id)) read(id);
  });
}

void Control::read(std::uint64_t id) {
  for (int turn = 0; turn < kRequestsPerTurn; ++turn) {
    auto found = connections_.find(id);
    if (found == connections_.end() || !found->second.unsent.empty()) return;
    Result<Packet> packet =
        receive_packet(found->second.socket.get(), wire::kMaxControl, 0, Wait::dont);
    if (!packet) {
      if (packet.error().code != Code::timed_out) drop(id);
      return;
    }
    Result<wire::NumberedRequest> request = wire::decode_request(packet->bytes);
    if (!request) {
      log_warning(std::move(request.error()).during("control").describe());
      return drop(id);
    }
    handle(id, *request);
  }
}

void Control::handle(std::uint64_t id, const wire::NumberedRequest& numbered) {
  const std::uint32_t number = numbered.number;
  const auto opened = [this, id, number](const Result<wire::Opened>& result) {
    answer_opened(id, number, result);
  };
  struct Visitor {
    Control& control;
    std::uint64_t id;
    std::uint32_t number;
    const Sessions::Opened& opened;
    Sessions& sessions;

    Done done() const {
      return [self = &control, to = id, n = number](const Status& status) {
        self->answer(to, n, status);
      };
    }

    void operator()(const wire::Create& r) { sessions.create(r, id, opened); }
    void operator()(const wire::Reset& r) {
      control.encoders_->end(r.session);
      sessions.reset(r, id, opened);
    }
    void operator()(const wire::Attach& r) { opened(sessions.attach(r.session, id)); }
    void operator()(const wire::End& r) {
      control.encoders_->end(r.session);
      sessions.end(r.session, done());
    }
    void operator()(const wire::Interrupt& r) {
      control.answer(id, number, sessions.interrupt(r.session, r.execution));
    }
    void operator()(const wire::AskStack& r) {
      control.answer(id, number, sessions.ask_stack(r.session, r.execution));
    }
    void operator()(const wire::EndLoop& r) { control.answer(id, number, sessions.end_loop(r)); }
    void operator()(const wire::Watch& r) { control.answer(id, number, sessions.watch(r)); }
    void operator()(const wire::Unwatch& r) { control.answer(id, number, sessions.unwatch(r)); }
    void operator()(const wire::Kill& r) { control.answer(id, number, sessions.kill(r.session)); }
    void operator()(const wire::List& r) { control.answer(id, number, sessions.list(r.after)); }
    void operator()(const wire::AskUsage& r) {
      sessions.usage(r.session, [self = &control, to = id, n = number](Result<wire::Used> used) {
        self->answer(to, n, used ? wire::Reply(*used) : wire::Reply(used.error()));
      });
    }
    void operator()(const wire::OpenFile& r) { control.files_->open(id, number, r); }
    void operator()(const wire::NewFile& r) { control.files_->create(id, number, r); }
    void operator()(const wire::CommitFile& r) { control.files_->commit(id, number, r); }
    void operator()(const wire::RemoveFile& r) { control.files_->remove(id, number, r); }
    void operator()(const wire::ListFiles& r) { control.files_->list(id, number, r); }
    void operator()(const wire::Freeze& r) { sessions.freeze(r, done()); }
    void operator()(const wire::OpenDisplay& r) {
      sessions.open_display(
          r, [self = &control, to = id, n = number](const Result<OpenedDisplay>& shown) {
            if (!shown) return self->answer(to, n, wire::Reply(shown.error()));
            wire::DisplayOpened reply = shown->about;
            std::vector<int> fds;
            name(reply.fds, fds, wire::FdRole::framebuffer, shown->framebuffer);
            name(reply.fds, fds, wire::FdRole::screen_helper, shown->helper);
            self->send(to, wire::encode_reply(n, reply), fds);
          });
    }
    void operator()(const wire::StartEncoder& r) {
      if (Result<SandboxFiles*> files = sessions.files(r.session); !files)
        return control.answer(id, number, wire::Reply(files.error()));
      Result<std::uint64_t> encoder = control.encoders_->start(r.session, id);
      if (!encoder) return control.answer(id, number, wire::Reply(encoder.error()));
      control.send(id, wire::encode_reply(number, wire::EncoderStarted{*encoder}),
                   {control.encoders_->socket(*encoder)});
    }
    void operator()(const wire::AttachEncoder& r) {
      if (Status adopted = control.encoders_->adopt(r.encoder, id); !adopted)
        return control.answer(id, number, adopted);
      control.send(id, wire::encode_reply(number, wire::Done{}),
                   {control.encoders_->socket(r.encoder)});
    }
    void operator()(const wire::StartGateway&) {
      Result<Fd> socket = control.gateway_->start(id);
      if (!socket) return control.answer(id, number, wire::Reply(socket.error()));
      control.send(id, wire::encode_reply(number, wire::Done{}), {socket->get()});
    }
    void operator()(const wire::MountLayers& r) { sessions.mount_layers(r, done()); }
    void operator()(const wire::Info&) { control.answer(id, number, wire::Reply(control.info_())); }
  };
  const Sessions::Opened callback = opened;
  std::visit(Visitor{*this, id, number, callback, *sessions_}, numbered.request);
}

void Control::answer(std::uint64_t id, std::uint32_t number, const wire::Reply& reply) {
  if (number != 0) send(id, wire::encode_reply(number, reply), {});
}

void Control::answer(std::uint64_t id, std::uint32_t number, const Status& status) {
  answer(id, number, status ? wire::Reply(wire::Done{}) : wire::Reply(status.error()));
}

void Control::answer_with(std::uint64_t id, std::uint32_t number, const wire::Reply& reply,
                          int fd) {
  send(id, wire::encode_reply(number, reply), {fd});
}

void Control::answer_opened(std::uint64_t id, std::uint32_t number,
                            const Result<wire::Opened>& opened) {
  if (!opened) return answer(id, number, wire::Reply(opened.error()));
  send_opened(id, number, *opened);
}

void Control::notify(std::uint64_t id, const wire::Event& event) {
  send(id, wire::encode_event(event), {});
}

void Control::send(std::uint64_t id, std::string bytes, const std::vector<int>& fds) {
  auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  if (connection.unsent.empty()) {
    Status sent = send_packet(connection.socket.get(), bytes, fds, Wait::dont);
    if (sent) return;
    if (sent.error().code != Code::over_limit) return drop(id);
  }
  Connection::Waiting waiting{.bytes = std::move(bytes)};
  for (int fd : fds) {
    Result<Fd> copy = duplicate(fd);
    if (!copy) return drop(id);
    waiting.fds.push_back(std::move(*copy));
  }
  wait_to_send(id, std::move(waiting));
}

void Control::send_opened(std::uint64_t id, std::uint32_t number, const wire::Opened& opened) {
  auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  if (connection.unsent.empty()) {
    Status sent = transmit_opened(connection.socket.get(), number, opened);
    if (sent) return;
    if (sent.error().code != Code::over_limit) return drop(id);
  }
  wait_to_send(id, {.bytes = {}, .opened = opened, .number = number});
}

Status Control::transmit_opened(int socket, std::uint32_t number, const wire::Opened& opened) {
  if (!sessions_->has_worker(opened.session)) {
    const Error gone{Code::unavailable, "the session was ended meanwhile"};
    return send_packet(socket, wire::encode_reply(number, gone), {}, Wait::dont);
  }
  wire::Opened reply = opened;
  const WorkerFds worker = sessions_->fds(opened.session);
  std::vector<int> fds;
  name(reply.fds, fds, wire::FdRole::session_socket, worker.socket);
  name(reply.fds, fds, wire::FdRole::stdout_pipe, worker.out);
  name(reply.fds, fds, wire::FdRole::stderr_pipe, worker.err);
  if (worker.meters) {
    name(reply.fds, fds, wire::FdRole::cpu_meter, worker.meters->cpu_time.get());
    name(reply.fds, fds, wire::FdRole::memory_meter, worker.meters->memory_peak.get());
  }
  if (worker.egress) {
    name(reply.fds, fds, wire::FdRole::egress_log, worker.egress->log);
    name(reply.fds, fds, wire::FdRole::egress_counters, worker.egress->counters);
  }
  return send_packet(socket, wire::encode_reply(number, reply), fds, Wait::dont);
}

void Control::wait_to_send(std::uint64_t id, Connection::Waiting waiting) {
  std::deque<Connection::Waiting>& unsent = connections_.at(id).unsent;
  if (unsent.size() >= kMaxUnsent) {
    log_warning("a client does not read its events and is disconnected");
    return drop(id);
  }
  unsent.push_back(std::move(waiting));
  if (unsent.size() == 1) watch(id);
}

void Control::flush(std::uint64_t id) {
  Connection& connection = connections_.at(id);
  while (!connection.unsent.empty()) {
    const Connection::Waiting& next = connection.unsent.front();
    std::vector<int> fds;
    for (const Fd& fd : next.fds) fds.push_back(fd.get());
    const int socket = connection.socket.get();
    Status sent = next.opened ? transmit_opened(socket, next.number, *next.opened)
                              : send_packet(socket, next.bytes, fds, Wait::dont);
    if (!sent && sent.error().code == Code::over_limit) return;
    if (!sent) return drop(id);
    connection.unsent.pop_front();
  }
  watch(id);
}

void Control::drop(std::uint64_t id) {
  auto found = connections_.find(id);
  if (found == connections_.end()) return;
  loop_.unwatch(found->second.socket.get());
  connections_.erase(found);
  if (files_) files_->forget(id);
  if (encoders_ != nullptr) encoders_->owner_left(id);
  if (gateway_ != nullptr) gateway_->owner_left(id);
}

}  // namespace vitrine::keeper
