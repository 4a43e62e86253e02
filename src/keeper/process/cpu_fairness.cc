// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/cpu_fairness.h"

#include <algorithm>
#include <utility>

namespace vitrine::keeper {

namespace {

// A sandbox that wanted less CPU time than this in a period is idle.
constexpr std::chrono::milliseconds kIdlePeriod{100};
constexpr std::uint64_t kIdleUsec = 10'000;
constexpr std::uint64_t kIdleWantedUsec = 50'000;  // with the time it waited for a CPU
constexpr std::uint32_t kMaxCaught = 64;
constexpr std::chrono::milliseconds kSweepPeriod{500};
constexpr std::size_t kSweep = 32;  // sandboxes in a period
constexpr double kBusy = 0.25;      // of a CPU, with no execution

}  // namespace

std::unique_ptr<CpuFairness::Member> CpuFairness::add(CpuAccount& account) {
  auto member = std::make_unique<Member>(*this, account, ++last_id_);
  members_[member->id_] = member.get();
  schedule_sweep();
  return member;
}

void CpuFairness::schedule_sweep() {
  if (sweep_ == 0 && !members_.empty()) sweep_ = loop_.after(kSweepPeriod, [this] { sweep(); });
}

void CpuFairness::sweep() {
  sweep_ = 0;
  auto at = members_.upper_bound(last_swept_);
  for (std::size_t i = 0; i < std::min(kSweep, members_.size()); ++i, ++at) {
    if (at == members_.end()) at = members_.begin();
    last_swept_ = at->first;
    at->second->check_unexpected_use();
  }
  schedule_sweep();
}

CpuFairness::Member::~Member() {
  fairness_.members_.erase(id_);
  fairness_.loop_.cancel(idle_check_);
  account_.stop_yielding();
}

void CpuFairness::Member::execution_started() {
  if (stopped_) return;
  fairness_.loop_.cancel(std::exchange(idle_check_, 0));
  account_.yield();
}

void CpuFairness::Member::execution_ended() { check_idle(0); }

void CpuFairness::Member::stop() {
  stopped_ = true;
  fairness_.loop_.cancel(std::exchange(idle_check_, 0));
  account_.stop_yielding();
}

// One that is starved is not idle.
Result<std::uint64_t> CpuFairness::Member::wanted_usec() const {
  Result<std::uint64_t> used = account_.used_usec();
  if (used && account_.is_contended()) *used += account_.waited_usec();
  return used;
}

void CpuFairness::Member::check_idle(std::uint64_t wanted_before) {
  fairness_.loop_.cancel(std::exchange(idle_check_, 0));
  if (!account_.yields()) return;
  Result<std::uint64_t> wanted = wanted_usec();
  if (!wanted) return account_.stop_yielding();
  const std::uint64_t most = account_.is_contended() ? kIdleWantedUsec : kIdleUsec;
  const bool idle =
      wanted_before != 0 && *wanted >= wanted_before && *wanted - wanted_before < most;
  idle_periods_ = idle ? idle_periods_ + 1 : 0;
  if (idle && idle_periods_ > times_caught_) {
    idle_periods_ = 0;
    return account_.stop_yielding();
  }
  idle_check_ = fairness_.loop_.after(kIdlePeriod, [this, before = *wanted] {
    idle_check_ = 0;
    check_idle(before);
  });
}

// Threads and processes may use the CPU that no execution waits for.
void CpuFairness::Member::check_unexpected_use() {
  if (stopped_ || account_.yields()) {
    swept_usec_ = 0;  // what it does meanwhile is known already
    return;
  }
  Result<std::uint64_t> used = account_.used_usec();
  if (!used) return;
  const auto now = fairness_.loop_.now();
  const std::chrono::duration<double, std::micro> time = now - std::exchange(swept_, now);
  const std::uint64_t before = std::exchange(swept_usec_, *used);
  if (before == 0 || static_cast<double>(*used - before) < kBusy * time.count()) return;
  times_caught_ = std::min(2 * times_caught_ + 1, kMaxCaught);
  account_.yield();
  check_idle(0);
}

}  // namespace vitrine::keeper
