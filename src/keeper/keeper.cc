// SPDX-License-Identifier: Apache-2.0
#include "keeper/keeper.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <utility>

#include "keeper/log.h"

namespace vitrine::keeper {

namespace {

constexpr std::chrono::seconds kStopTime{5};
constexpr std::uint32_t kMaxStartFailures = 6;  // in a row, until we give up

std::string new_instance() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::to_string(now.tv_sec) + "." + std::to_string(now.tv_nsec) + "." +
         std::to_string(::getpid());
}

uid_t client_of(const Options& options) {
  return options.client_uid < 0 ? ::geteuid() : static_cast<uid_t>(options.client_uid);
}

}  // namespace

Keeper::Keeper(Loop loop, Options options)
    : loop_(std::move(loop)),
      options_(std::move(options)),
      instance_(new_instance()),
      process_(loop_, reaper_, options_),
      control_(
          loop_, [this] { return info(); }, client_of(options_)) {}

Status Keeper::start() {
  if (Status s = choose_level(host_, options_); !s) return s;
  Result<Programs> programs = open_programs(options_);
  if (!programs) return std::move(programs.error());
  programs_ = std::move(*programs);
  Result<SealedFilters> filters = compile_filters(host_.level);
  if (!filters) return std::move(filters.error());
  filters_ = std::move(*filters);
  // Before the old cgroups are swept: a second keeper by mistake must not end the first one's sessions.
  if (!options_.control.empty())
    if (Status s = control_.listen(options_.control); !s) return s;
  if (Status s = detect_host(host_, options_); !s) return s;
  if (Status s = reaper_.start(loop_); !s) return s;
  if (Status s = handle_signals(); !s) return s;
  if (options_.ephemeral)
    if (Status s = watch_parent(); !s) return s;

  std::optional<uid_t> user;  // the front's: no session ever gets it
  std::optional<uid_t> recorder;
  std::optional<uid_t> gateway;
  if (host_.ids) user = host_.ids->front;
  if (host_.ids) recorder = host_.ids->recorder;
  if (host_.ids) gateway = host_.ids->gateway;
  if (Status s = prepare_layers(options_, user); !s) return s;
  if (Status s = process_.start(host_, programs_, filters_); !s) return s;
  sessions_.emplace(loop_, Sessions::Isolations{{IsolationKind::process, &process_.isolation()}},
                    options_.capacity, control_);
  encoders_.emplace(loop_, reaper_, std::move(programs_.encoder), recorder);
  gateway_.emplace(reaper_, std::move(programs_.gateway), gateway);
  control_.serve(*sessions_, *encoders_, *gateway_);
  if (!options_.front.empty())
    if (Status s = start_front(user); !s) return s;
  process_.warm_up([this](const Status& warm) {
    if (warm) return announce_when_full();
    log_error(warm.error().describe());
    fail(1);
  });
  return ok();
}

Status Keeper::start_front(std::optional<uid_t> user) {
  front_.emplace(loop_, reaper_, control_,
                 FrontConfig{.program = options_.front,
                             .arguments = options_.front_arguments,
                             .listen = options_.listen,
                             .data = options_.data,
                             .user = user});
  tokens_.emplace(
      loop_, reaper_,
      TokensConfig{
          .program = options_.tokens_reader, .file = options_.tokens, .data = options_.data},
      [this] { front_->tell(SIGHUP); });
  const auto ready = [this] {
    front_ready_ = true;
    announce_when_full();
  };
  return front_->start(ready, [this](int code) { fail(code); });
}

Status Keeper::handle_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return Error::from_errno("blocking signals");
  signals_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return Error::from_errno("making a signalfd");
  return loop_.watch(signals_.get(), EPOLLIN, [this](std::uint32_t) {
    signalfd_siginfo info;
    bool again = false;
    bool end = false;
    while (::read(signals_.get(), &info, sizeof info) > 0)
      (info.ssi_signo == SIGHUP && !options_.tokens.empty() ? again : end) = true;
    if (end) return stop();
    if (again && tokens_ && !stopping_) tokens_->read_again();
  });
}

// Not by PR_SET_PDEATHSIG alone: the kernel forgets it when a process takes on another's file ids.
Status Keeper::watch_parent() {
  parent_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0)));
  if (!parent_) return Error::from_errno("watching the process that started us");
  return loop_.watch(parent_.get(), EPOLLIN, [this](std::uint32_t) {
    loop_.unwatch(parent_.get());
    stop();
  });
}

void Keeper::announce_when_full() {
  if (announced_ || stopping_) return;
  const bool faulty = options_.shell_fault != 0 || options_.worker_fault != 0;
  if (front_ && !front_ready_) return;
  if (!faulty && process_.isolation().failures() >= kMaxStartFailures) {
    log_error("no session can be made here; the reasons are above");
    return fail(1);
  }
  if (!faulty && !process_.isolation().full())
    return static_cast<void>(
        loop_.after(std::chrono::milliseconds(5), [this] { announce_when_full(); }));
  announced_ = true;
  if (front_) std::printf("vitrine: ready on http://%s\n", front_->address().c_str());
  else std::printf("vitrine-keeper: ready on %s\n", options_.control.c_str());
  std::fflush(stdout);
}

int Keeper::run() {
  loop_.run();
  return exit_code_;
}

void Keeper::fail(int exit_code) {
  exit_code_ = exit_code;
  stop();
}

void Keeper::stop() {
  if (stopping_) return;
  stopping_ = true;
  control_.unlisten();
  auto end_all = [this] {
    if (encoders_) encoders_->stop();
    if (gateway_) gateway_->stop();
    if (sessions_) sessions_->stop();
    process_.stop();
    wait_until_empty(Clock::now() + kStopTime);
  };
  // The front first: it finishes what it is doing and answers its clients.
  if (front_) return front_->stop(end_all);
  end_all();
}

void Keeper::wait_until_empty(Clock::time_point latest) {
  const bool late = Clock::now() > latest;
  if (process_.is_empty() || late) process_.stop_shells();
  if (late) log_error("some sessions did not end in time; they end with the keeper");
  if (process_.is_stopped() || late) return loop_.stop();
  loop_.after(std::chrono::milliseconds(2), [this, latest] { wait_until_empty(latest); });
}

KeeperInfo Keeper::info() const {
  KeeperInfo info{.instance = instance_, .python = programs_.image.python};
  info.isolation = isolation_info(host_, options_);
  process_.describe(info);
  info.sessions = static_cast<std::uint32_t>(sessions_->count());
  info.capacity = options_.capacity;
  info.isolations = sessions_->isolations();
  info.keeper_pid = ::getpid();
  if (front_) {
    info.front_pid = front_->pid();
    info.front_restarts = front_->restarts();
  }
  info.encoders = static_cast<std::uint32_t>(encoders_->count());
  info.encoder_cpu_us = static_cast<std::uint64_t>(encoders_->cpu_time().count());
  return info;
}

}  // namespace vitrine::keeper
