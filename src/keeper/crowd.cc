// SPDX-License-Identifier: Apache-2.0
#include "keeper/crowd.h"

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
constexpr std::uint64_t kBurns = 2000;  // microseconds in a period; less disturbs nobody

std::vector<int> own_cpus() {
  cpu_set_t all;
  CPU_ZERO(&all);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all)) cpus.push_back(cpu);
  return cpus;
}

// Microseconds that these processors had nothing to do, since the host started. 0 if nobody tells.
std::uint64_t idle_usec(const std::vector<int>& cpus) {
  static const auto kTick = static_cast<std::uint64_t>(1'000'000 / ::sysconf(_SC_CLK_TCK));
  std::ifstream stat("/proc/stat");
  std::uint64_t ticks = 0;
  std::string name;
  for (std::string line; std::getline(stat, line) && line.starts_with("cpu");) {
    std::uint64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0;
    std::istringstream fields(line);
    fields >> name >> user >> nice >> system >> idle >> waiting;
    int cpu = -1;  // the first line is of all together
    std::from_chars(name.data() + 3, name.data() + name.size(), cpu);
    if (std::ranges::binary_search(cpus, cpu)) ticks += idle + waiting;
  }
  return ticks * kTick;
}

}  // namespace

Crowd::Crowd(Loop& loop) : loop_(loop), cpus_(own_cpus()) {}

Crowd::~Crowd() { loop_.cancel(timer_); }

std::unique_ptr<Crowd::Member> Crowd::add(jail::Cgroup& cgroup, std::uint32_t cpu_permille) {
  if (!cgroup.set_share(jail::Cgroup::Share::small)) return nullptr;
  auto member = std::make_unique<Member>(*this, cgroup, cpu_permille);
  members_.push_back(member.get());
  if (timer_ == 0 && cpus_.size() > 1 && can_confine_) look_later();
  return member;
}

void Crowd::look_later() {
  timer_ = loop_.after(kPeriod, [this] { look(); });
}

void Crowd::look() {
  timer_ = 0;
  if (members_.empty() || !can_confine_) return spent_.reset();
  look_later();
  if (!is_full()) return release_all();
  std::vector<Member*> burning;
  std::vector<Burner> burners;
  for (Member* member : members_) {
    if (!member->burns()) {
      member->release();
      continue;
    }
    burning.push_back(member);
    burners.push_back(member->burner_);
  }
  spread(burners, cpus_.size());
  for (std::size_t i = 0; i < burning.size(); ++i) burning[i]->keep_on(std::move(burners[i].cpus));
}

bool Crowd::is_full() {
  Result<std::uint64_t> used = members_.front()->cgroup_.cpu_usec_of_all();
  if (!used) return false;
  const Spent now{.used = *used, .idle = idle_usec(cpus_)};
  const Spent before = std::exchange(spent_, now).value_or(now);
  return now.used - before.used > now.idle - before.idle;
}

void Crowd::release_all() {
  for (Member* member : members_) member->release();
}

Crowd::Member::Member(Crowd& crowd, jail::Cgroup& cgroup, std::uint32_t cpu_permille)
    : crowd_(crowd), cgroup_(cgroup), burner_{.width = cpu_permille / 1000.0} {}

Crowd::Member::~Member() {
  crowd_.members_.remove(this);
  release();
  (void)cgroup_.set_share(jail::Cgroup::Share::usual);
}

bool Crowd::Member::burns() {
  Result<std::uint64_t> now = cgroup_.cpu_usec();
  if (!now) return false;
  const std::uint64_t spent = *now - std::exchange(used_, *now).value_or(*now);
  burner_.received += static_cast<double>(spent);
  return spent >= kBurns;
}

void Crowd::Member::keep_on(std::vector<std::size_t> places) {
  // Also when nothing changed: what was started while it was last looked at may have been missed.
  burner_.cpus = std::move(places);
  std::vector<int> cpus;
  for (const std::size_t place : burner_.cpus) cpus.push_back(crowd_.cpus_[place]);
  confine(cpus);
}

void Crowd::Member::release() {
  if (burner_.cpus.empty()) return;
  burner_.cpus.clear();
  confine(crowd_.cpus_);
}

void Crowd::Member::confine(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  Status done = cgroup_.confine(set);
  if (done || !std::exchange(crowd_.can_confine_, false)) return;
  log_warning("sessions that burn the processor are not kept apart: " + done.error().describe());
}

}  // namespace vitrine::keeper
