// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/oom_watch.h"

#include <utility>

#include "jail/cgroup.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::milliseconds kPause{10};
constexpr int kLooks = 50;

}  // namespace

OomWatch::OomWatch(Loop& loop, Source source, std::function<void()> killed)
    : loop_(loop), source_(std::move(source)), killed_(std::move(killed)) {
  if (Result<std::uint64_t> kills = source_.kills()) before_ = *kills;
  (void)loop_.watch(source_.event, source_.poll_events, [this](std::uint32_t) {
    jail::drain_oom_event(source_.event);
    look(kLooks);
  });
}

OomWatch::~OomWatch() {
  loop_.cancel(timer_);
  loop_.unwatch(source_.event);
}

bool OomWatch::saw_kill() {
  if (saw_kill_) return true;
  Result<std::uint64_t> kills = source_.kills();
  saw_kill_ = kills && *kills > before_;
  return saw_kill_;
}

void OomWatch::look(int looks_left) {
  loop_.cancel(std::exchange(timer_, 0));
  Result<std::uint64_t> kills = source_.kills();
  if (!kills) return;
  if (*kills > before_) {
    saw_kill_ = true;
    return killed_();
  }
  if (looks_left == 0) return;
  timer_ = loop_.after(kPause, [this, looks_left] {
    timer_ = 0;
    look(looks_left - 1);
  });
}

}  // namespace vitrine::keeper
