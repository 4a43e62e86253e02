// SPDX-License-Identifier: Apache-2.0
// vitrine-keeper: wires the parts together and waits.
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>

#include "jail/landlock.h"
#include "jail/seccomp.h"
#include "jail/worker.h"
#include "keeper/control.h"
#include "keeper/doctor.h"
#include "keeper/floor_shells.h"
#include "keeper/front.h"
#include "keeper/image.h"
#include "keeper/log.h"
#include "keeper/options.h"
#include "keeper/sealed_shells.h"
#include "keeper/tokens.h"
#include "model/host_ids.h"

namespace vitrine::keeper {

namespace {

constexpr std::uint32_t kOuterIds = 65536;
// Behind those of full jails and of their fronts: killing by user id must never meet them.
constexpr std::uint32_t kFloorIds = 2 * kOuterIds;
constexpr std::chrono::seconds kStopTime{5};
constexpr std::uint32_t kMaxStartFailures = 6;  // in a row, until we give up

// A copy in memory that nobody can change: what runs as pid 1 is not a file of the host.
Result<Fd> sealed_copy(const std::string& name, std::string_view bytes) {
  Fd memory(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return Error::from_errno("making a memfd");
  if (::write(memory.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::fcntl(memory.get(), F_ADD_SEALS,
              F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Error::from_errno("sealing a memfd");
  return memory;
}

Result<Fd> sealed_program(const std::string& name, const std::string& path) {
  Result<std::string> bytes = read_file(AT_FDCWD, path.c_str(), 64 << 20);
  if (!bytes) return std::move(bytes.error()).during(name).with_remedy("build it: ./dev build");
  if (!bytes->starts_with("\x7f"
                          "ELF"))
    return Error{.code = Code::invalid_argument,
                 .message = name + ": it is not a program",
                 .remedy = "build it: ./dev build"};
  Result<Fd> memory = sealed_copy(name, *bytes);
  if (memory && ::fchmod(memory->get(), 0755) != 0) return Error::from_errno("marking " + name);
  return memory;
}

struct FaultNumbers {
  std::uint32_t shell = 0;
  std::uint32_t worker = 0;
  std::uint32_t display = 0;
};

// A test may rewrite the file while we run.
FaultNumbers fault_numbers(const Options& options) {
  FaultNumbers numbers{.shell = options.shell_fault, .worker = options.worker_fault};
  if (options.faults.empty()) return numbers;
  if (Result<std::string> text = read_file(AT_FDCWD, options.faults.c_str()))
    std::sscanf(text->c_str(), "%u %u %u", &numbers.shell, &numbers.worker, &numbers.display);
  return numbers;
}

struct Keeper {
  explicit Keeper(Loop made) : loop(std::move(made)) {}

  Status start(const Options& options);
  void stop();
  KeeperInfo info() const;

  Loop loop;
  Options options;
  Image image;
  std::map<std::string, Environment> environments;  // the operator's
  Fd init_program;
  Fd zygote_filter;
  Fd worker_filter;
  Fd display_filter;
  Fd screen_program;   // empty: this build has none
  Fd encoder_program;  // also
  Level level = Level::full;
  Fd signals;
  Fd parent;  // of an ephemeral one
  jail::CgroupHost host;
  int landlock = 0;
  HostIds own_ids;  // as root
  std::optional<jail::CgroupTree> cgroups;
  Reaper reaper;  // its handlers hold shells, and those their cgroups
  std::unique_ptr<Shells> shells;
  std::optional<Zygotes> zygotes;
  std::optional<Displays> displays;
  std::optional<Rooms> rooms;
  std::optional<Egress> egress;
  std::optional<Sessions> sessions;
  std::optional<Encoders> encoders;
  std::optional<Control> control;
  std::optional<Front> front;
  std::optional<Tokens> tokens;
  std::string instance;  // tells this keeper from all others, before and after
  bool announced = false;
  bool front_ready = false;
  bool stopping = false;
  int exit_code = 0;

 private:
  Status choose_level();
  Status choose_ids();
  Status open_files();
  Status prepare_layers(std::optional<uid_t> user);
  Status compile();
  Status detect_host();
  void warn_of_limits() const;
  Status handle_signals();
  Status watch_parent();
  void announce_when_full();
  void wait_until_empty(Clock::time_point latest);
};

Status Keeper::open_files() {
  Result<Image> opened = open_image(options.image);
  if (!opened) return std::move(opened.error());
  image = std::move(*opened);
  for (const char* part : {"_vitrine.so", "vitrine_runtime/boot.py"})
    if (!Fd(::open((options.runtime + "/usr/lib/vitrine/" + part).c_str(), O_PATH | O_CLOEXEC)))
      return Error::from_errno("opening the session runtime").with_remedy("build it: ./dev build");
  Result<Fd> program = sealed_program("vitrine-init", options.init);
  if (!program) return std::move(program.error());
  init_program = std::move(*program);
  const std::string encoder =
      options.init.substr(0, options.init.rfind('/') + 1) + "vitrine-encoder";
  encoder_program = Fd(::open(encoder.c_str(), O_PATH | O_CLOEXEC));
  if (!encoder_program) log_warning("there is no vitrine-encoder: no recordings");
  // Beside it. Without it windows are neither placed nor listed, and no input is possible.
  const std::string screen = options.init.substr(0, options.init.rfind('/') + 1) + "vitrine-screen";
  if (::access(screen.c_str(), F_OK) != 0) {
    log_warning("there is no vitrine-screen: no window list, no input");
    return ok();
  }
  Result<Fd> helper = sealed_program("vitrine-screen", screen);
  if (!helper) return std::move(helper.error());
  screen_program = std::move(*helper);
  return ok();
}

// Never weaker than asked for, and never without a word.
Status Keeper::choose_level() {
  if (options.floor == Level::full) return ok();
  const std::vector<std::string> missing = missing_for_full_jail();
  if (missing.empty()) {
    log_info("isolation: full; --isolation-floor container is not needed here");
    return ok();
  }
  level = Level::container;
  std::string list;
  for (const std::string& one : missing) list += (list.empty() ? "" : ", ") + one;
  log_warning("isolation: container, weaker than full: this host withholds " + list);
  for (const char* lost : kLostOnTheFloor)
    log_warning(std::string("isolation: container: ") + lost);
  log_warning(
      "isolation: for the full jail, give the container --privileged --cgroupns=private; `vitrine "
      "doctor` tells what is missing, SECURITY.md what that means");
  return ok();
}

// Root of a user namespace has only those that are mapped into it, and they may be too few.
Status Keeper::choose_ids() {
  Result<HostIds> ids = read_host_ids(options.uid_base);
  if (!ids) return std::move(ids.error());
  own_ids = *ids;
  // The mounts that the builder is given are cloned, which only the owner of a mount namespace may. Without
  // one of our own the builder opens them by their names, and says what it cannot reach.
  if (own_ids.outer.first != options.uid_base) (void)::unshare(CLONE_NEWNS);
  const PoolConfig& pool = options.pool;
  std::uint64_t wanted = std::uint64_t{options.capacity} + pool.shells + pool.recycled;
  for (std::uint32_t workers : pool.workers) wanted += workers;
  if (level == Level::full && slots_of(own_ids.outer) < wanted)
    log_warning("user ids: enough for " + std::to_string(slots_of(own_ids.outer)) +
                " sessions; the capacity and the pools together are " + std::to_string(wanted));
  return ok();
}

// Where the front puts packages. Readable for all who can get there, which through the data directory
// nobody can: the builder has it as a mount of its own.
Status Keeper::prepare_layers(std::optional<uid_t> user) {
  if (options.data.empty()) return ok();
  const std::string path = options.data + "/layers";
  ::mkdir(options.data.c_str(), 0700);
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return Error::from_errno("making the directory of package layers");
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory || ::fchmod(directory.get(), 0755) != 0 ||
      (user && ::fchown(directory.get(), *user, *user) != 0))
    return Error::from_errno("opening the directory of package layers");
  return ok();
}

Status Keeper::compile() {
  Result<jail::Filters> filters = jail::compile_filters();
  if (!filters) return std::move(filters.error()).during("seccomp");
  Result<Fd> big = sealed_copy("zygote filter", jail::filter_bytes(filters->zygote));
  if (!big) return std::move(big.error());
  zygote_filter = std::move(*big);
  const auto& sealing = level == Level::container ? filters->floor : filters->worker;
  Result<Fd> small = sealed_copy("worker filter", jail::filter_bytes(sealing));
  if (!small) return std::move(small.error());
  worker_filter = std::move(*small);
  Result<Fd> base = sealed_copy("base filter", jail::filter_bytes(filters->base));
  if (!base) return std::move(base.error());
  display_filter = std::move(*base);
  return ok();
}

// The level of isolation says nothing of limits: these have one of their own.
void Keeper::warn_of_limits() const {
  std::string list;
  for (const std::string& one : best_effort_limits(level, host))
    list += (list.empty() ? "" : ", ") + one;
  if (list.empty()) return;
  const jail::CgroupOffer& missing = host.memory ? host.cpu : host.memory;
  log_warning("limits: best effort: " + list + " (" +
              (level == Level::container ? "no cgroups at this level" : missing.refusal) + ")");
}

Status Keeper::detect_host() {
  Result<int> abi = jail::landlock_abi();
  if (!abi) return std::move(abi.error());
  landlock = *abi;
  if (level == Level::container) {
    if (landlock == 0)
      log_warning(
          "isolation: container: there is no Landlock either: user ids, chroot and seccomp must "
          "do");
    warn_of_limits();
    return ok();
  }
  host = jail::detect_cgroups();
  warn_of_limits();
  if (!host.memory && !host.pids && !host.cpu && !host.kill) return ok();
  Result<jail::CgroupTree> tree = jail::CgroupTree::create(host, options.name);
  if (!tree) return std::move(tree.error()).during("cgroups");
  cgroups.emplace(std::move(*tree));
  return ok();
}

Status Keeper::handle_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return Error::from_errno("blocking signals");
  signals = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return Error::from_errno("making a signalfd");
  return loop.watch(signals.get(), EPOLLIN, [this](std::uint32_t) {
    signalfd_siginfo info;
    bool again = false;
    bool end = false;
    while (::read(signals.get(), &info, sizeof info) > 0)
      (info.ssi_signo == SIGHUP && !options.tokens.empty() ? again : end) = true;
    if (end) return stop();
    if (again && tokens && !stopping) tokens->read_again();
  });
}

// Not by PR_SET_PDEATHSIG alone: the kernel forgets it when we take on another's file ids.
Status Keeper::watch_parent() {
  parent = Fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0)));
  if (!parent) return Error::from_errno("watching the process that started us");
  return loop.watch(parent.get(), EPOLLIN, [this](std::uint32_t) {
    loop.unwatch(parent.get());
    stop();
  });
}

Status Keeper::start(const Options& chosen) {
  options = chosen;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  instance = std::to_string(now.tv_sec) + "." + std::to_string(now.tv_nsec) + "." +
             std::to_string(::getpid());
  ::signal(SIGPIPE, SIG_IGN);
  ::umask(077);
  // Its memory holds what no session may see; and no group of ours may reach a zygote.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const bool root = ::geteuid() == 0;
  if (root && ::setgroups(0, nullptr) != 0)
    return Error::from_errno("dropping groups")
        .with_remedy("start it as an ordinary user: this root is one of a user namespace only");
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max < jail::kMaxDescriptors)
    return Error{.code = Code::unsupported,
                 .message = "at most " + std::to_string(files.rlim_max) +
                            " descriptors may be open, and a session may use " +
                            std::to_string(jail::kMaxDescriptors),
                 .remedy = "raise the hard limit, for example with ulimit -Hn"};

  if (Status s = choose_level(); !s) return s;
  if (root)
    if (Status s = choose_ids(); !s) return s;
  if (Status s = open_files(); !s) return s;
  if (Status s = compile(); !s) return s;
  // Before the old cgroups are swept: a second keeper by mistake must not end the first one's sessions.
  const uid_t client =
      options.client_uid < 0 ? ::geteuid() : static_cast<uid_t>(options.client_uid);
  control.emplace(
      loop, [this] { return info(); }, client);
  if (!options.control.empty())
    if (Status s = control->listen(options.control); !s) return s;
  if (Status s = detect_host(); !s) return s;
  if (Status s = reaper.start(loop); !s) return s;
  if (Status s = handle_signals(); !s) return s;
  if (options.ephemeral)
    if (Status s = watch_parent(); !s) return s;

  std::optional<uid_t> user;  // the front's: no session ever gets it
  if (root) user = own_ids.front;
  if (Status s = prepare_layers(user); !s) return s;
  if (level != Level::container)  // which cannot mount them
    environments = find_environments(options.image + ".environments", image.recipe);
  if (level == Level::container) {
    shells = std::make_unique<FloorShells>(loop, reaper,
                                           FloorConfig{.image = image.root,
                                                       .runtime = options.runtime,
                                                       .first_user = options.uid_base + kFloorIds});
  } else {
    const OuterIds ids = root ? OuterIds{static_cast<std::uint32_t>(own_ids.outer.first),
                                         static_cast<std::uint32_t>(own_ids.outer.count)}
                              : OuterIds{::geteuid(), 1};
    shells = std::make_unique<SealedShells>(
        loop, reaper, cgroups ? &*cgroups : nullptr,
        BuilderConfig{.ids = ids,
                      .image = image.root,
                      .runtime = options.runtime,
                      .init_program = init_program.get(),
                      .screen_program = screen_program.get(),
                      .display_filter = display_filter.get(),
                      .layers = options.data.empty() ? "" : options.data + "/layers",
                      .wheels = options.wheels,
                      .environments = environments.empty() ? "" : options.image + ".environments"});
  }
  if (Status s = shells->start(); !s) return s;
  shells->inject_faults([this] { return fault_numbers(options).shell; });
  zygotes.emplace(loop, reaper, *shells,
                  ZygoteConfig{.zygote_filter = zygote_filter.get(),
                               .worker_filter = worker_filter.get(),
                               .children_per_zygote = options.children_per_zygote,
                               .environments = environments});
  displays.emplace(loop, reaper, *shells);
  displays->inject_faults([this] { return fault_numbers(options).display; });
  rooms.emplace(loop, reaper, *shells, *zygotes, options.pool);
  rooms->inject_faults([this] { return fault_numbers(options).worker; });
  std::optional<uid_t> proxies;
  if (root) proxies = own_ids.first_proxy;
  egress.emplace(loop, reaper, *shells,
                 EgressConfig{.on = options.egress,
                              .program = options.egress_program,
                              .private_ = options.egress_private,
                              .index = options.egress_index,
                              .first_user = proxies});
  if (Status s = egress->prepare(); !s) return s;
  sessions.emplace(
      loop, *rooms, *egress, *displays, options.capacity,
      [this](std::uint64_t owner, const wire::Event& event) { control->notify(owner, event); },
      [this](std::uint64_t owner) { return control->connected(owner); });
  std::optional<uid_t> recorder;
  if (root) recorder = own_ids.recorder;
  encoders.emplace(loop, reaper, std::move(encoder_program), recorder);
  control->serve(*sessions, *encoders);
  if (!options.front.empty()) {
    front.emplace(loop, reaper, *control,
                  FrontConfig{.program = options.front,
                              .arguments = options.front_arguments,
                              .listen = options.listen,
                              .data = options.data,
                              .user = user});
    tokens.emplace(
        loop, reaper,
        TokensConfig{
            .program = options.tokens_reader, .file = options.tokens, .data = options.data},
        [this] { front->tell(SIGHUP); });
    const auto ready = [this] {
      front_ready = true;
      announce_when_full();
    };
    const auto failed = [this](int code) {
      exit_code = code;
      stop();
    };
    if (Status s = front->start(ready, failed); !s) return s;
  }

  for (Variant variant : {Variant::loaded, Variant::bare, Variant::seeded})
    if (variant != Variant::seeded || options.pool.workers[2] > 0) zygotes->want(variant);
  zygotes->on_warm(Variant::loaded, [this](Status warm) {
    if (!warm) {
      log_error(warm.error().describe());
      exit_code = 1;
      return stop();
    }
    rooms->refill();
    announce_when_full();
  });
  return ok();
}

void Keeper::announce_when_full() {
  if (announced || stopping) return;
  const bool faulty = options.shell_fault != 0 || options.worker_fault != 0;
  if (front && !front_ready) return;
  if (!faulty && rooms->failures() >= kMaxStartFailures) {
    log_error("no session can be made here; the reasons are above");
    exit_code = 1;
    return stop();
  }
  if (!faulty && !rooms->full())
    return static_cast<void>(
        loop.after(std::chrono::milliseconds(5), [this] { announce_when_full(); }));
  announced = true;
  if (front) std::printf("vitrine: ready on http://%s\n", front->address().c_str());
  else std::printf("vitrine-keeper: ready on %s\n", options.control.c_str());
  std::fflush(stdout);
}

void Keeper::stop() {
  if (stopping) return;
  stopping = true;
  if (control) control->unlisten();
  auto end_all = [this] {
    if (encoders) encoders->stop();
    if (sessions) sessions->stop();
    if (rooms) rooms->stop();
    if (zygotes) zygotes->stop();
    wait_until_empty(Clock::now() + kStopTime);
  };
  // The front first: it finishes what it is doing and answers its clients.
  if (front) return front->stop(end_all);
  end_all();
}

void Keeper::wait_until_empty(Clock::time_point latest) {
  const bool late = Clock::now() > latest;
  if (shells && (shells->alive() == 0 || late)) shells->stop();
  if (late) log_error("some sessions did not end in time; they end with the keeper");
  if (!shells || shells->stopped() || late) return loop.stop();
  loop.after(std::chrono::milliseconds(2), [this, latest] { wait_until_empty(latest); });
}

std::string enforced_by(const jail::CgroupOffer& offer, const char* otherwise) {
  return offer ? "cgroup" : otherwise;
}

template <class T>
std::uint32_t count(T number) {
  return static_cast<std::uint32_t>(number);
}

KeeperInfo Keeper::info() const {
  const Rooms::Counts counts = rooms->counts();
  KeeperInfo info{.instance = instance, .python = image.python};
  info.isolation = {.level = level,
                    .floor = options.floor,
                    .lost = {},
                    .privileged = ::geteuid() == 0,
                    .cgroups = std::string(jail::kind_of(host)),
                    .limits = limits_level(level, host),
                    .best_effort = best_effort_limits(level, host),
                    .memory = enforced_by(host.memory, "rlimit, per process, best effort"),
                    .processes = enforced_by(host.pids, "rlimit"),
                    .cpu = enforced_by(host.cpu, "none, best effort"),
                    .landlock_abi = count(landlock)};
  if (level == Level::container)
    info.isolation.lost.assign(std::begin(kLostOnTheFloor), std::end(kLostOnTheFloor));
  info.egress = egress->on();
  info.proxies = count(egress->alive());
  info.sessions = count(sessions->count());
  info.capacity = count(options.capacity);
  info.shells = count(shells->alive());
  info.pools = {.bare = count(counts.warm[0]),
                .loaded = count(counts.warm[1]),
                .seeded = count(counts.warm[2]),
                .empty = count(counts.empty),
                .recycled = count(counts.recycled)};
  info.keeper_pid = ::getpid();
  std::tie(info.builder_pid, info.foundation_pid) = shells->foundations();
  if (front) {
    info.front_pid = front->pid();
    info.front_restarts = front->restarts();
  }
  if (encoders) {
    info.encoders = count(encoders->count());
    info.encoder_cpu_us = static_cast<std::uint64_t>(encoders->cpu_time().count());
  }
  for (const Zygotes::Condition& one : zygotes->conditions())
    info.zygotes.push_back({.variant = one.flavor.variant,
                            .environment = one.flavor.environment,
                            .policy = one.flavor.policy,
                            .pid = one.pid,
                            .warm = one.warm,
                            .forks = one.forks,
                            .alive = one.alive});
  for (const auto& [name, one] : environments)
    info.environments.push_back({.name = name, .preload = one.preload});
  return info;
}

int serve(Loop loop, const Options& options) {
  Keeper keeper(std::move(loop));
  if (Status s = keeper.start(options); !s) {
    log_error(s.error().describe());
    return 1;
  }
  keeper.loop.run();
  return keeper.exit_code;
}

int run(int argc, char** argv) {
  Result<Options> options = parse_options(argc, argv);
  if (!options) {
    std::fprintf(stderr, "vitrine-keeper: %s\n", options.error().describe().c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  if (options->doctor) {
    const Diagnosis diagnosis = diagnose(*options);
    std::printf("%s\n", diagnosis.json.c_str());
    return diagnosis.full ? 0 : 1;
  }
  Result<Loop> loop = Loop::make();
  if (!loop) {
    std::fprintf(stderr, "vitrine-keeper: %s\n", loop.error().describe().c_str());
    return 1;
  }
  const int exit_code = serve(std::move(*loop), *options);
  if (options->ephemeral && !options->data.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(options->data, ignored);
  }
  return exit_code;
}

}  // namespace

}  // namespace vitrine::keeper

int main(int argc, char** argv) {
  try {
    return vitrine::keeper::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("vitrine-keeper: there is not enough memory; remedy: allow it more\n", stderr);
    return 1;
  }
}
