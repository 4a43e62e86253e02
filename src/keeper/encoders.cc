// SPDX-License-Identifier: Apache-2.0
#include "keeper/encoders.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <utility>

#include "keeper/log.h"
#include "keeper/spawn_helper.h"

namespace vitrine::keeper {

namespace {

constexpr int kNice = 10;  // films may wait; who asks the front should not

}  // namespace

Result<std::uint64_t> Encoders::start(std::uint64_t session, std::uint64_t owner) {
  if (!program_)
    return Error{.code = Code::unsupported,
                 .message = "this installation cannot record: it has no vitrine-encoder",
                 .remedy = "build it: ./dev build"};
  if (count() >= kMax)
    return Error{.code = Code::over_limit,
                 .message = "too many displays are being recorded",
                 .remedy = "stop a recording first"};
  Result<FdPair> pair = make_socketpair();
  if (!pair) return std::move(pair.error());
  Result<int> pid = spawn_helper(
      {.name = "vitrine-encoder", .program = program_.get(), .user = user_, .nice = kNice},
      pair->second.get());
  if (!pid) return std::move(pid.error());
  const std::uint64_t id = ++last_id_;
  Encoder& encoder = encoders_[id];
  encoder.session = session;
  encoder.owner = owner;
  encoder.pid = *pid;
  encoder.front = std::move(pair->first);
  encoder.socket = std::move(pair->second);
  const Status watched = loop_.watch(encoder.socket.get(), EPOLLRDHUP, [this, id](std::uint32_t) {
    if (const auto found = encoders_.find(id); found != encoders_.end())
      ask_to_end(id, found->second);
  });
  encoder.watched = static_cast<bool>(watched);
  reaper_.watch(*pid, [this, id](Ending ending) { ended(id, ending); });
  if (!watched) {  // nobody would end it
    reaper_.signal(*pid, SIGKILL);
    return Error{Code::internal, "an encoder cannot be watched"};
  }
  return id;
}

void Encoders::ended(std::uint64_t id, const Ending& ending) {
  Encoder& encoder = encoders_.at(id);
  cpu_of_ended_ += ending.cpu;
  unwatch(encoder);
  encoder.pid = -1;
  encoder.socket.reset();  // so that whoever reads on comes to an end
  if (ending.signalled)
    log_warning("an encoder was ended by signal " + std::to_string(ending.code));
  loop_.after(kOrphanTime, [this, id] { encoders_.erase(id); });
}

Status Encoders::adopt(std::uint64_t id, std::uint64_t owner) {
  const auto found = encoders_.find(id);
  if (found == encoders_.end())
    return Error{.code = Code::not_found, .message = "there is no such encoder"};
  found->second.owner = owner;
  return ok();
}

void Encoders::owner_left(std::uint64_t owner) {
  for (const auto& [id, encoder] : encoders_) {
    if (encoder.owner != owner || encoder.pid < 0) continue;
    loop_.after(kOrphanTime, [this, id = id, owner] {
      const auto found = encoders_.find(id);
      if (found != encoders_.end() && found->second.owner == owner) ask_to_end(id, found->second);
    });
  }
}

std::size_t Encoders::count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(encoders_, [](const auto& one) { return one.second.pid > 0; }));
}

void Encoders::unwatch(Encoder& encoder) {
  if (std::exchange(encoder.watched, false)) loop_.unwatch(encoder.socket.get());
}

std::chrono::microseconds Encoders::cpu_time() const {
  std::chrono::microseconds sum = cpu_of_ended_;
  for (const auto& [id, encoder] : encoders_) {
    clockid_t clock{};
    timespec used{};
    if (encoder.pid > 0 && ::clock_getcpuclockid(encoder.pid, &clock) == 0 &&
        ::clock_gettime(clock, &used) == 0)
      sum += std::chrono::microseconds(used.tv_sec * 1'000'000 + used.tv_nsec / 1000);
  }
  return sum;
}

void Encoders::end(std::uint64_t session) {
  for (auto& [id, encoder] : encoders_)
    if (encoder.session == session) ask_to_end(id, encoder);
}

void Encoders::stop() {
  for (auto& [id, encoder] : encoders_) ask_to_end(id, encoder);
}

void Encoders::ask_to_end(std::uint64_t id, Encoder& encoder) {
  if (encoder.ending || encoder.pid < 0) return;
  encoder.ending = true;
  unwatch(encoder);
  ::shutdown(encoder.socket.get(), SHUT_RD);
  loop_.after(kEndTime, [this, id] {
    const auto found = encoders_.find(id);
    if (found == encoders_.end() || found->second.pid < 0) return;
    log_warning("an encoder did not end in time and is killed");
    reaper_.signal(found->second.pid, SIGKILL);
  });
}

}  // namespace vitrine::keeper
