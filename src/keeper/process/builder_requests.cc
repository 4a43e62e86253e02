// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/builder_requests.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace vitrine::keeper {

namespace {

constexpr std::size_t kMaxAsked = 64;  // its socket holds four times as many

// What names a shell to the builder, also when its turn comes later.
Result<std::shared_ptr<const Fd>> init_of(const Shell& shell) {
  if (shell.init_gone) return Error{Code::unavailable, "the shell is gone"};
  auto init =
      std::make_shared<const Fd>(static_cast<int>(::syscall(SYS_pidfd_open, shell.init, 0)));
  if (!*init) return Error::from_errno("looking at a shell");
  return std::shared_ptr<const Fd>(std::move(init));
}

template <class Waiting>
void fail_all(Waiting& waiting) {
  for (auto& [id, answer] : std::exchange(waiting, {}))
    answer(Error{Code::unavailable, "the builder died"});
}

}  // namespace

BuilderRequests::BuilderRequests(Loop& loop, const Builder& builder)
    : loop_(loop), builder_(builder), window_(kMaxAsked) {}

void BuilderRequests::ask(std::function<Status()> send, std::function<void(Error)> failed) {
  window_.enter([this, send = std::move(send), failed = std::move(failed)] {
    Status sent = Error{Code::unavailable, "the builder is starting"};
    if (builder_.control) sent = send();
    if (sent) return;
    window_.leave();
    loop_.after({}, [failed, error = std::move(sent.error())] { failed(error); });
  });
}

void BuilderRequests::listen(const Shell& shell, std::uint16_t port,
                             std::function<void(Result<Fd>)> listening) {
  Result<std::shared_ptr<const Fd>> init = init_of(shell);
  if (!init) {
    loop_.after({}, [listening = std::move(listening), error = init.error()] { listening(error); });
    return;
  }
  const auto send = [this, port, init = *init, listening]() -> Status {
    const std::uint64_t id = next_id();
    Status sent =
        send_listen_inside(builder_.control.get(), {.what = id, .port = port}, init->get());
    if (sent) listeners_[id] = listening;
    return sent;
  };
  ask(send, listening);
}

void BuilderRequests::mount_layers(const Shell& shell, const LayerList& layers,
                                   const std::string& environment,
                                   std::function<void(Status)> done) {
  Result<std::shared_ptr<const Fd>> init = init_of(shell);
  if (!init) {
    loop_.after({}, [done = std::move(done), error = init.error()] { done(error); });
    return;
  }
  const auto send = [this, layers, environment, init = *init, done]() -> Status {
    const std::uint64_t id = next_id();
    const MountLayers request{.request = id, .layers = layers, .environment = environment};
    Status sent = send_mount_layers(builder_.control.get(), request, init->get());
    if (sent) layers_[id] = done;
    return sent;
  };
  ask(send, done);
}

Status BuilderRequests::start_zygote(const StartZygote& request, int socket, int zygote_filter,
                                     int worker_filter, std::function<void(Result<int>)> cloned) {
  Result<Fd> kept = duplicate(socket);
  if (!kept) return std::move(kept.error());
  // The filters are there as long as the keeper is.
  const auto send = [this, request, zygote_filter, worker_filter, cloned,
                     socket = std::make_shared<const Fd>(std::move(*kept))]() -> Status {
    StartZygote numbered = request;
    numbered.zygote = next_id();
    Status sent = send_start_zygote(builder_.control.get(), numbered, socket->get(), zygote_filter,
                                    worker_filter);
    if (sent) processes_[numbered.zygote] = cloned;
    return sent;
  };
  ask(send, cloned);
  return ok();
}

Status BuilderRequests::start_display(const StartDisplay& request, const std::vector<int>& fds,
                                      std::function<void(Result<int>)> cloned) {
  auto kept = std::make_shared<std::vector<Fd>>();
  for (int fd : fds) {
    Result<Fd> copy = duplicate(fd);
    if (!copy) return std::move(copy.error());
    kept->push_back(std::move(*copy));
  }
  const auto send = [this, request, kept, cloned]() -> Status {
    StartDisplay numbered = request;
    numbered.display = next_id();
    std::vector<int> sent_fds;
    for (const Fd& fd : *kept) sent_fds.push_back(fd.get());
    Status sent = send_start_display(builder_.control.get(), numbered, sent_fds);
    kept->clear();
    if (sent) processes_[numbered.display] = cloned;
    return sent;
  };
  ask(send, cloned);
  return ok();
}

bool BuilderRequests::take_answer(Cloned& cloned) {
  if (auto process = processes_.extract(cloned.what)) {
    if (cloned.pid < 0) process.mapped()(std::move(cloned.error));
    else process.mapped()(cloned.pid);
    return true;
  }
  if (auto layer = layers_.extract(cloned.what)) {
    if (cloned.pid < 0) layer.mapped()(std::move(cloned.error));
    else layer.mapped()(ok());
    return true;
  }
  if (auto waiting = listeners_.extract(cloned.what)) {
    if (cloned.listener) waiting.mapped()(std::move(cloned.listener));
    else waiting.mapped()(std::move(cloned.error));
    return true;
  }
  return false;
}

void BuilderRequests::builder_died() {
  fail_all(processes_);
  fail_all(layers_);
  fail_all(listeners_);
}

}  // namespace vitrine::keeper
