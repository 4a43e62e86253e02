// SPDX-License-Identifier: Apache-2.0
#include "jail/cgroup.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "jail/cgroup_files.h"

namespace vitrine::jail {

namespace {

constexpr std::chrono::milliseconds kPatience{50};
constexpr std::uint64_t kPeriodUsec = 100'000;

Error not_offered(std::string_view what, const CgroupOffer& offer) {
  return Error{Code::unsupported, std::string(what) + ": " + offer.refusal};
}

}  // namespace

Cgroup::Cgroup(const CgroupRoots& roots, std::string name)
    : roots_(&roots), name_(std::move(name)) {}

Cgroup::Cgroup(Cgroup&& other) noexcept
    : roots_(std::exchange(other.roots_, nullptr)),
      name_(std::move(other.name_)),
      pids_(other.pids_),
      worker_pids_(other.worker_pids_),
      worker_killed_(other.worker_killed_),
      kept_(std::move(other.kept_)),
      peak_(std::move(other.peak_)) {}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  std::swap(roots_, other.roots_);
  std::swap(name_, other.name_);
  std::swap(pids_, other.pids_);
  std::swap(worker_pids_, other.worker_pids_);
  std::swap(worker_killed_, other.worker_killed_);
  std::swap(kept_, other.kept_);
  std::swap(peak_, other.peak_);
  return *this;
}

Cgroup::~Cgroup() {
  if (roots_ == nullptr) return;
  (void)kill_all();
  (void)remove();
}

std::string Cgroup::path(Group group) const {
  return group == Group::worker ? name_ + "/w" : name_;
}

Status Cgroup::write(const CgroupOffer& offer, const char* file, std::string_view text) const {
  return write_file(dir(offer), (name_ + "/" + file).c_str(), text);
}

Status Cgroup::set_limits(const CgroupLimits& limits) {
  const CgroupHost& host = roots_->host;
  if (limits.memory_bytes == 0u || limits.pids == 0u || limits.cpu_permille.value_or(10) < 10)
    return Error{Code::invalid_argument, "a limit of a session is too small"};
  if (limits.memory_bytes)
    if (Status done = set_memory(*limits.memory_bytes); !done) return done;
  if (limits.pids) {
    if (!host.pids) return not_offered("limiting processes", host.pids);
    if (Status done = write(host.pids, "pids.max", std::to_string(*limits.pids)); !done)
      return std::move(done.error()).during("limiting processes");
    pids_ = limits.pids;
  }
  // On v2 the worker's group is given no controllers of its own.
  if (limits.worker_pids && host.pids && !is_v2(host.pids) && host.pids.place == host.kill.place) {
    const std::string file = path(Group::worker) + "/pids.max";
    Status done = write_file(dir(host.pids), file.c_str(), std::to_string(*limits.worker_pids));
    if (!done) return std::move(done.error()).during("limiting the worker's processes");
    worker_pids_ = limits.worker_pids;
  }
  if (limits.cpu_permille) {
    if (!host.cpu) return not_offered("limiting processor time", host.cpu);
    const std::string quota = std::to_string(*limits.cpu_permille * kPeriodUsec / 1000);
    Status done = is_v2(host.cpu)
                      ? write(host.cpu, "cpu.max", quota + " " + std::to_string(kPeriodUsec))
                      : write(host.cpu, "cpu.cfs_quota_us", quota);
    if (!done) return std::move(done.error()).during("limiting processor time");
  }
  return ok();
}

Status Cgroup::set_memory(std::uint64_t bytes) {
  const CgroupOffer& memory = roots_->host.memory;
  if (!memory) return not_offered("limiting memory", memory);
  const std::string text = std::to_string(bytes);
  const auto optional = [&](const char* file, std::string_view value) {
    Status done = write(memory, file, value);
    return done || done.error().code == Code::not_found ? ok() : done;  // not accounted here
  };
  Status done;
  if (is_v2(memory)) {
    done = write(memory, "memory.max", text);
    if (done) done = optional("memory.swap.max", "0");
  } else {
    // Memory and swap together may never be below memory alone: raise the sum first, lower it last.
    done = write(memory, "memory.limit_in_bytes", text);
    const bool raise = !done && done.error().code == Code::invalid_argument;
    if (raise || done)
      if (Status both = optional("memory.memsw.limit_in_bytes", text); !both || !raise) done = both;
    if (raise) done = write(memory, "memory.limit_in_bytes", text);
    // What TCP and UDP hold is counted apart, and without a limit of its own not at all.
    constexpr std::uint64_t kMostBuffers = 32u << 20;
    const std::string buffers = std::to_string(std::min(bytes, kMostBuffers));
    if (done) done = optional("memory.kmem.tcp.limit_in_bytes", buffers);
  }
  if (!done) return std::move(done.error()).during("limiting memory");
  return ok();
}

Status Cgroup::join(pid_t pid, Group group) {
  const CgroupHost& host = roots_->host;
  if (pid <= 0) return Error{Code::invalid_argument, "no process can have this number"};
  const std::string number = std::to_string(pid);
  const std::string plain = name_ + "/cgroup.procs";
  // Where it can be killed comes first: whatever fails later, it is in reach.
  const std::size_t first = *host.kill.place;
  const std::string file = path(group) + "/cgroup.procs";
  if (Status s = write_file(roots_->tree[first].get(), file.c_str(), number); !s)
    return std::move(s.error()).during("joining the session's cgroup");
  for (std::size_t i = 0; i < roots_->tree.size(); ++i)
    if (i != first)
      if (Status s = write_file(roots_->tree[i].get(), plain.c_str(), number); !s)
        return std::move(s.error()).during("joining the session's cgroups");
  return ok();
}

Status Cgroup::join_init(pid_t pid) { return join(pid, Group::session); }
Status Cgroup::join_worker(pid_t pid) { return join(pid, Group::worker); }

Status Cgroup::make_worker() {
  const CgroupOffer& place = roots_->host.kill;
  const std::string group = path(Group::worker);
  if (::mkdirat(dir(place), group.c_str(), 0755) != 0)
    return Error::from_errno("making a worker's cgroup");
  if (roots_->delegate && is_v2(place) &&
      ::fchownat(dir(place), (group + "/cgroup.procs").c_str(), *roots_->delegate,
                 static_cast<gid_t>(-1), 0) != 0)
    return Error::from_errno("delegating a worker's cgroup");
  return ok();
}

Result<Cgroup::Renewed> Cgroup::renew_worker() {
  const CgroupOffer& place = roots_->host.kill;
  if (!worker_killed_) return Renewed::same;
  if (kept_) kept_->events.reset();
  if (Status s = remove_group(dir(place), path(Group::worker), {}); !s) return std::move(s.error());
  if (Status s = make_worker(); !s) return std::move(s.error());
  worker_killed_ = false;
  if (kept_) (void)worker_populated();  // opens it
  return Renewed::another;
}

void Cgroup::keep_files() {
  if (kept_) return;
  kept_ = std::make_unique<Kept>();
  (void)worker_populated();
  (void)oom_kills();
}

Result<std::uint64_t> Cgroup::read_kept(Fd Kept::*file, const CgroupOffer& offer,
                                        const std::string& path, std::string_view key) const {
  if (!kept_) return read_keyed(dir(offer), path, key);
  Fd& kept = *kept_.*file;
  if (!kept) kept = Fd(::openat(dir(offer), path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!kept) return Error::from_errno("opening a cgroup file");
  return read_keyed_from(kept.get(), key);
}

Result<CgroupEntrance> Cgroup::open_entrance(Member member) const {
  CgroupEntrance entrance;
  for (std::size_t i = 0; i < roots_->tree.size(); ++i) {
    const bool v1 = roots_->host.places[i].version == CgroupVersion::v1;
    if (!v1 && !roots_->delegate)
      return Error{Code::unsupported, "nobody may clone into the cgroups"};
    const bool inner = member == Member::worker && i == *roots_->host.kill.place;
    const std::string group = path(inner ? Group::worker : Group::session);
    // A thread that moves only itself needs no global lock, but v2 moves whole processes only.
    Fd way(v1 ? ::openat(roots_->tree[i].get(), (group + "/tasks").c_str(), O_WRONLY | O_CLOEXEC)
              : ::openat(roots_->tree[i].get(), group.c_str(), O_PATH | O_CLOEXEC));
    if (!way) return Error::from_errno("opening a session's cgroup");
    if (v1) entrance.join_fds.push_back(std::move(way));
    else entrance.into = std::move(way);
  }
  return entrance;
}

Status Cgroup::kill(Group group) {
  const CgroupHost& host = roots_->host;
  const int where = dir(host.kill);
  if (is_v2(host.kill)) {
    worker_killed_ = true;  // even if it failed half-way
    Status done = write_file(where, (path(group) + "/cgroup.kill").c_str(), "1");
    if (done || done.error().code != Code::not_found) return done;  // else: before Linux 5.14
  }
  // By hand. A limit of 0 keeps members from forking meanwhile; it is where the groups are on v1.
  const bool fence = host.pids && host.pids.place == host.kill.place;
  if (fence) (void)write_file(where, (path(group) + "/pids.max").c_str(), "0");
  Status done = kill_members(where, path(Group::worker));
  if (done && group == Group::session) done = kill_members(where, path(Group::session));
  if (fence) {
    const std::optional<std::uint32_t> limit = group == Group::session ? pids_ : worker_pids_;
    const std::string before = limit ? std::to_string(*limit) : "max";
    (void)write_file(where, (path(group) + "/pids.max").c_str(), before);
  }
  return done;
}

Status Cgroup::kill_all() {
  Status done = kill(Group::session);
  // v1: a frozen process cannot even die.
  if (done && roots_->host.freeze && !is_v2(roots_->host.freeze)) return freeze(Freeze::thaw);
  return done;
}

Status Cgroup::kill_worker() {
  Status done = kill(Group::worker);
  if (done && roots_->host.freeze && !is_v2(roots_->host.freeze)) return freeze(Freeze::thaw);
  return done;
}

Result<bool> Cgroup::populated(Group group) const {
  const CgroupOffer& place = roots_->host.kill;
  if (is_v2(place)) {
    const std::string events = path(group) + "/cgroup.events";
    Result<std::uint64_t> value = group == Group::worker
                                      ? read_kept(&Kept::events, place, events, "populated")
                                      : read_keyed(dir(place), events, "populated");
    if (!value) return std::move(value.error());
    return *value != 0;
  }
  Result<bool> worker = has_members(dir(place), path(Group::worker));
  if (group == Group::worker || !worker || *worker) return worker;
  return has_members(dir(place), path(Group::session));
}

Result<bool> Cgroup::populated() const { return populated(Group::session); }
Result<bool> Cgroup::worker_populated() const { return populated(Group::worker); }

Status Cgroup::freeze(Freeze wanted) {
  const CgroupOffer& place = roots_->host.freeze;
  if (!place) return not_offered("freezing", place);
  const bool stop = wanted == Freeze::freeze;
  if (is_v2(place)) return write(place, "cgroup.freeze", stop ? "1" : "0");
  return write(place, "freezer.state", stop ? "FROZEN" : "THAWED");
}

Status Cgroup::set_share(Share share) {
  const CgroupOffer& cpu = roots_->host.cpu;
  if (!cpu) return not_offered("sharing processor time", cpu);
  const bool usual = share == Share::usual;
  return is_v2(cpu) ? write(cpu, "cpu.weight", usual ? "100" : "2")
                    : write(cpu, "cpu.shares", usual ? "1024" : "20");
}

Status Cgroup::confine(const cpu_set_t& cpus) {
  const CgroupOffer& place = roots_->host.kill;
  const char* list = is_v2(place) ? "cgroup.threads" : "tasks";
  Status done = confine_members(dir(place), path(Group::worker), list, cpus);
  return done ? confine_members(dir(place), path(Group::session), list, cpus) : done;
}

Result<std::uint64_t> Cgroup::cpu_usec_below(const std::string& group) const {
  const CgroupOffer& meter = roots_->host.cpu_time;
  if (!meter) return not_offered("measuring processor time", meter);
  if (is_v2(meter)) return read_keyed(dir(meter), group + "/cpu.stat", "usage_usec");
  Result<std::uint64_t> nanoseconds = read_number(dir(meter), group + "/cpuacct.usage");
  if (nanoseconds) *nanoseconds /= 1000;
  return nanoseconds;
}

std::uint64_t Cgroup::waited_usec() const {
  const CgroupOffer& place = roots_->host.kill;
  const char* list = is_v2(place) ? "cgroup.threads" : "tasks";
  return waited_usec_of_members(dir(place), path(Group::worker), list) +
         waited_usec_of_members(dir(place), path(Group::session), list);
}

Result<std::uint64_t> Cgroup::cpu_usec() const { return cpu_usec_below(name_); }
Result<std::uint64_t> Cgroup::cpu_usec_of_all() const { return cpu_usec_below("."); }

Result<CgroupUsage> Cgroup::usage() const {
  const CgroupHost& host = roots_->host;
  CgroupUsage usage;
  const auto keep = [](std::optional<std::uint64_t>& field, Result<std::uint64_t> value) -> Status {
    if (value) field = *value;
    return value || value.error().code == Code::not_found ? ok() : Status(value.error());
  };
  if (host.cpu_time)
    if (Status s = keep(usage.cpu_usec, cpu_usec()); !s) return std::move(s.error());
  if (host.memory) {
    const bool v2 = is_v2(host.memory);
    const int where = dir(host.memory);
    const char* now = v2 ? "/memory.current" : "/memory.usage_in_bytes";
    const char* peak = v2 ? "/memory.peak" : "/memory.max_usage_in_bytes";
    if (Status s = keep(usage.memory_now_bytes, read_number(where, name_ + now)); !s)
      return std::move(s.error());
    Result<std::uint64_t> most =
        peak_ ? read_number_from(peak_.get()) : read_number(where, name_ + peak);
    if (Status s = keep(usage.memory_peak_bytes, std::move(most)); !s) return std::move(s.error());
  }
  return usage;
}

Cgroup::Meters Cgroup::open_meters() const {
  const CgroupHost& host = roots_->host;
  if (!host.cpu_time || !host.memory) return {};
  const char* cpu = is_v2(host.cpu_time) ? "/cpu.stat" : "/cpuacct.usage";
  const char* peak = is_v2(host.memory) ? "/memory.peak" : "/memory.max_usage_in_bytes";
  Meters meters{
      .cpu = Fd(::openat(dir(host.cpu_time), (name_ + cpu).c_str(), O_RDONLY | O_CLOEXEC)),
      .memory = Fd(::openat(dir(host.memory), (name_ + peak).c_str(), O_RDONLY | O_CLOEXEC))};
  if (!meters.cpu || !meters.memory) return {};
  return meters;
}

Status Cgroup::reset_peak() {
  const CgroupOffer& memory = roots_->host.memory;
  if (!memory) return not_offered("measuring memory", memory);
  if (!is_v2(memory)) {
    const char* file = "memory.max_usage_in_bytes";
    if (!kept_) return write(memory, file, "0");
    if (!kept_->peak)
      kept_->peak = Fd(::openat(dir(memory), (name_ + "/" + file).c_str(), O_WRONLY | O_CLOEXEC));
    if (!kept_->peak || ::pwrite(kept_->peak.get(), "0", 1, 0) != 1)
      return Error::from_errno("resetting a memory peak");
    return ok();
  }
  if (!peak_)
    peak_ = Fd(::openat(dir(memory), (name_ + "/memory.peak").c_str(), O_RDWR | O_CLOEXEC));
  if (!peak_ || ::pwrite(peak_.get(), "0", 1, 0) != 1) {
    peak_.reset();
    return Error{Code::unsupported, "this kernel cannot reset a memory peak"};
  }
  return ok();
}

Result<std::uint64_t> Cgroup::oom_kills() const {
  const CgroupOffer& memory = roots_->host.memory;
  if (!memory) return not_offered("counting memory kills", memory);
  const char* file = is_v2(memory) ? "/memory.events" : "/memory.oom_control";
  return read_kept(&Kept::kills, memory, name_ + file, "oom_kill");
}

Result<Fd> Cgroup::oom_event() const {
  const CgroupOffer& memory = roots_->host.memory;
  if (!memory) return not_offered("watching memory", memory);
  const std::string file = name_ + (is_v2(memory) ? "/memory.events" : "/memory.oom_control");
  Fd control(::openat(dir(memory), file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!control) return Error::from_errno("watching memory");
  if (is_v2(memory)) {
    drain_oom_event(control.get());  // the first poll would report the past
    return control;
  }
  Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return Error::from_errno("watching memory");
  const std::string wish = std::to_string(event.get()) + " " + std::to_string(control.get());
  if (Status done = write(memory, "cgroup.event_control", wish); !done)
    return std::move(done.error()).during("watching memory");
  return event;
}

std::uint32_t Cgroup::oom_poll_events() const {
  const CgroupOffer& memory = roots_->host.memory;
  return memory && is_v2(memory) ? EPOLLPRI : EPOLLIN;
}

Status Cgroup::remove() {
  if (roots_ == nullptr) return ok();
  kept_.reset();
  if (Status s = remove_group(dir(roots_->host.kill), path(Group::worker), kPatience); !s) return s;
  for (const Fd& tree : roots_->tree)
    if (Status s = remove_group(tree.get(), name_, kPatience); !s) return s;
  roots_ = nullptr;
  return ok();
}

Status enter_cgroup(int join_fd) {
  if (::write(join_fd, "0", 1) != 1) return Error::from_errno("joining a cgroup");
  return ok();
}

void drain_oom_event(int fd) {
  std::array<char, 1024> text;
  (void)::lseek(fd, 0, SEEK_SET);
  (void)!::read(fd, text.data(), text.size());
}

}  // namespace vitrine::jail
