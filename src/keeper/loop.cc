// SPDX-License-Identifier: Apache-2.0
#include "keeper/loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>

namespace vitrine::keeper {

Result<Loop> Loop::make(Now now) {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return Error::from_errno("making an epoll");
  return Loop(std::move(epoll), std::move(now));
}

Status Loop::watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> handler) {
  // The generation tells a new descriptor from an old event of the same number.
  const std::uint32_t generation = ++generation_;
  epoll_event event{};
  event.events = events;
  event.data.u64 = (std::uint64_t{generation} << 32) | static_cast<std::uint32_t>(fd);
  const int operation = watched_.contains(fd) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (::epoll_ctl(epoll_.get(), operation, fd, &event) != 0)
    return Error::from_errno("watching a descriptor");
  watched_[fd] = {generation, std::move(handler)};
  return ok();
}

void Loop::unwatch(int fd) {
  if (watched_.erase(fd) > 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

TimerId Loop::at(Clock::time_point when, std::function<void()> handler) {
  const TimerId id = ++last_timer_;
  timers_.emplace(std::pair(when, id), std::move(handler));
  timer_times_.emplace(id, when);
  return id;
}

void Loop::cancel(TimerId timer) {
  auto found = timer_times_.find(timer);
  if (found == timer_times_.end()) return;
  timers_.erase({found->second, timer});
  timer_times_.erase(found);
}

int Loop::wait_time() const {
  if (timers_.empty()) return -1;
  const auto left = timers_.begin()->first.first - now();
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<std::int64_t>(rounded, 0, 60'000));
}

void Loop::run_timers() {
  const auto due = now();
  while (!timers_.empty() && timers_.begin()->first.first <= due) {
    auto node = timers_.extract(timers_.begin());
    timer_times_.erase(node.key().second);
    node.mapped()();
  }
}

void Loop::handle_ready(int milliseconds) {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), milliseconds);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const int fd = static_cast<int>(event.data.u64 & 0xFFFFFFFF);
    auto found = watched_.find(fd);
    if (found == watched_.end() || found->second.generation != event.data.u64 >> 32) continue;
    const auto handler = found->second.handler;  // it may remove itself
    handler(event.events);
  }
}

void Loop::run() {
  while (!stopped_) {
    handle_ready(wait_time());
    run_timers();
  }
}

void Loop::poll() {
  handle_ready(0);
  run_timers();
}

Clock::time_point Loop::next_timer() const {
  return timers_.empty() ? Clock::time_point::max() : timers_.begin()->first.first;
}

}  // namespace vitrine::keeper
