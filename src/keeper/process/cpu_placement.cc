// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/cpu_placement.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::milliseconds kPeriod{200};
constexpr double kBurns = 0.01;  // of a processor; less disturbs nobody
constexpr int kCalmLooks =
    10;  // in a row, before one that was kept apart goes free: it may be starved
constexpr double kFade = 0.95;  // of what was received, per look
constexpr int kRest = 10;       // times as long as a look took
constexpr std::size_t kAgain = 16;
constexpr std::uint64_t kLooksPerTurn = 5;

std::vector<int> own_cpus() {
  cpu_set_t all;
  CPU_ZERO(&all);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all)) cpus.push_back(cpu);
  return cpus;
}

// Microseconds that these processors had nothing to do, since the host started.
std::optional<std::uint64_t> idle_usec(const std::vector<int>& cpus) {
  static const auto kTick = static_cast<std::uint64_t>(1'000'000 / ::sysconf(_SC_CLK_TCK));
  std::ifstream stat("/proc/stat");
  std::optional<std::uint64_t> ticks;
  std::string name;
  for (std::string line; std::getline(stat, line) && line.starts_with("cpu");) {
    std::uint64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0;
    std::istringstream fields(line);
    fields >> name >> user >> nice >> system >> idle >> waiting;
    int cpu = -1;  // the first line is of all together
    std::from_chars(name.data() + 3, name.data() + name.size(), cpu);
    if (std::ranges::binary_search(cpus, cpu)) ticks = ticks.value_or(0) + idle + waiting;
  }
  if (ticks) *ticks *= kTick;
  return ticks;
}

}  // namespace

CpuPlacement::CpuPlacement(Loop& loop) : loop_(loop) {}

CpuPlacement::~CpuPlacement() { loop_.cancel(timer_); }

std::unique_ptr<CpuPlacement::Member> CpuPlacement::add(jail::Cgroup& cgroup,
                                                        std::uint32_t cpu_permille) {
  if (!cgroup.set_share(jail::Cgroup::Share::small)) return nullptr;
  auto member = std::make_unique<Member>(*this, cgroup, cpu_permille);
  members_.push_back(member.get());
  if (timer_ == 0) look_after(kPeriod);
  return member;
}

void CpuPlacement::look_after(std::chrono::milliseconds time) {
  timer_ = loop_.after(time, [this] { look(); });
}

void CpuPlacement::look() {
  timer_ = 0;
  full_ = false;
  if (members_.empty()) return spent_.reset();
  const auto began = Clock::now();
  if (std::vector<int> now = own_cpus(); now != cpus_) {
    cpus_ = std::move(now);
    release_all();  // from places that mean something else now
    spent_.reset();
  }
  full_ = is_full();
  if (full_ && cpus_.size() > 1)
    keep_apart(std::chrono::duration<double, std::micro>(began - last_look_).count());
  else release_all();
  last_look_ = began;
  // With a thousand members this takes its time: others need the keeper, too.
  const auto took = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - began);
  look_after(std::max(kPeriod, kRest * took));
}

void CpuPlacement::keep_apart(double usec) {
  std::vector<Member*> burning;
  std::vector<BusySession> sessions;
  for (Member* member : members_)
    if (member->is_cpu_bound(usec)) {
      burning.push_back(member);
      sessions.push_back(member->busy_);
    } else {
      member->release();
    }
  assign_cpus(sessions, cpus_.size(), ++looks_ % kLooksPerTurn == 0 ? Turn::yes : Turn::no);
  for (std::size_t i = 0; i < burning.size(); ++i) {
    const bool moved = burning[i]->busy_.cpus != sessions[i].cpus;
    // What it started while it was last looked at may have been missed: some are seen to again.
    const bool again = (i + burning.size() - next_ % burning.size()) % burning.size() < kAgain;
    if (moved || again) burning[i]->keep_on(std::move(sessions[i].cpus));
  }
  next_ += kAgain;
}

bool CpuPlacement::is_full() {
  Result<std::uint64_t> used = members_.front()->cgroup_.cpu_usec_of_all();
  const std::optional<std::uint64_t> idle = idle_usec(cpus_);
  if (!used || !idle) return false;
  const Spent now{.used = *used, .idle = *idle};
  const Spent before = std::exchange(spent_, now).value_or(now);
  return now.used + before.idle > before.used + now.idle;  // idle time may go backwards
}

void CpuPlacement::release_all() {
  for (Member* member : members_) member->release();
}

CpuPlacement::Member::Member(CpuPlacement& placement, jail::Cgroup& cgroup,
                             std::uint32_t cpu_permille)
    : placement_(placement), cgroup_(cgroup), busy_{.width = cpu_permille / 1000.0} {}

CpuPlacement::Member::~Member() {
  placement_.members_.remove(this);
  release();
  (void)cgroup_.set_share(jail::Cgroup::Share::usual);
}

bool CpuPlacement::Member::is_cpu_bound(double usec) {
  Result<std::uint64_t> now = cgroup_.cpu_usec();
  if (!now) return false;
  const auto spent = static_cast<double>(*now - std::exchange(used_, *now).value_or(*now));
  const double used = spent / usec;
  busy_.received = kFade * busy_.received + spent;
  // One that shares a processor would use more.
  busy_.wants = std::min(busy_.width, 2 * used);
  calm_looks_ = used < kBurns ? calm_looks_ + 1 : 0;
  return busy_.cpus.empty() ? calm_looks_ == 0 : calm_looks_ < kCalmLooks;
}

void CpuPlacement::Member::keep_on(std::vector<std::size_t> places) {
  busy_.cpus = std::move(places);
  std::vector<int> cpus;
  for (const std::size_t place : busy_.cpus) cpus.push_back(placement_.cpus_[place]);
  confine(cpus);
}

void CpuPlacement::Member::release() {
  // Twice: a child on its way at the first is in the group only later.
  if (busy_.cpus.empty() && !release_again_) return;
  release_again_ = !busy_.cpus.empty();
  busy_.cpus.clear();
  confine(placement_.cpus_);
}

void CpuPlacement::Member::confine(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  Status done = cgroup_.confine(set);
  if (done || std::exchange(placement_.told_, true)) return;
  log_warning("a CPU-bound session cannot be confined to some CPUs: " + done.error().describe());
}

}  // namespace vitrine::keeper
