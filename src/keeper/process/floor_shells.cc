// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/floor_shells.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/packet.h"
#include "jail/floor.h"
#include "keeper/log.h"

namespace vitrine::keeper {

namespace fs = std::filesystem;

namespace {

constexpr int kKillTries = 3;
constexpr const char* kHomes = "home/sandbox";  // below the image's root; see jail::kFloorHomes

std::string name_of(std::uint64_t shell) { return "s" + std::to_string(shell); }

int close_range(unsigned first, unsigned last) {
  return static_cast<int>(::syscall(SYS_close_range, first, last, 0));
}

// --- The warden: everything here runs in its process.

// Whether anybody else has this id, be it a zombie that somebody has yet to reap.
bool any_left(uid_t user) {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return true;
  const std::string self = std::to_string(::getpid());
  while (const dirent* entry = ::readdir(proc.get())) {
    struct stat info {};
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && self != entry->d_name &&
        ::fstatat(::dirfd(proc.get()), entry->d_name, &info, 0) == 0 && info.st_uid == user)
      return true;
  }
  return false;
}

[[noreturn]] void kill_everything_of(uid_t user, uid_t warden) {
  // Real and saved ids decide who may signal us, the effective one whom we may: nobody, and the session.
  if (::setresgid(warden, warden, warden) != 0 || ::setresuid(warden, user, warden) != 0)
    ::_exit(125);
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};
  constexpr int kPauses = 20'000;  // what cannot be killed for that long hangs in the kernel
  for (int i = 0; i < kPauses; ++i) {
    (void)::kill(-1, SIGKILL);  // all that we may signal, at one instant: no fork slips through
    if (!any_left(user)) ::_exit(0);
    ::nanosleep(&kPause, nullptr);
  }
  ::_exit(1);
}

[[noreturn]] void stand_guard(int lifeline, uid_t user, uid_t warden) {
  ::prctl(PR_SET_NAME, "warden", 0, 0, 0);
  ::setsid();  // Ctrl-C in the keeper's terminal is for the keeper
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  if (::dup2(lifeline, 0) != 0 || close_range(1, ~0U) != 0) ::_exit(125);
  char byte = 0;
  while (::read(0, &byte, 1) < 0 && errno == EINTR) {
  }
  kill_everything_of(user, warden);
}

// --- Before the first session.

Status refused(std::string why, std::string remedy) {
  return Error{.code = Code::unsupported, .message = std::move(why), .remedy = std::move(remedy)};
}

// The image holds placeholders that the full jail mounts devices over.
Status make_devices(int root) {
  struct Device {
    const char* path;
    unsigned minor;
  };
  for (const Device& one : {Device{"dev/null", 3}, Device{"dev/zero", 5}, Device{"dev/full", 7},
                            Device{"dev/random", 8}, Device{"dev/urandom", 9}}) {
    struct stat info {};
    if (::fstatat(root, one.path, &info, AT_SYMLINK_NOFOLLOW) == 0) {
      if (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, one.minor)) continue;
      if (::unlinkat(root, one.path, 0) != 0) return Error::from_errno("removing a placeholder");
    }
    if (::mknodat(root, one.path, S_IFCHR | 0666, makedev(1, one.minor)) != 0 ||
        ::fchmodat(root, one.path, 0666, 0) != 0)
      return Error::from_errno("making a device in the image")
          .with_remedy(
              "use an image that can be written to, and the capability MKNOD, one of Docker's own");
  }
  Fd null(::openat(root, "dev/null", O_RDWR | O_CLOEXEC));
  if (!null)
    return Error::from_errno("opening a device of the image")
        .with_remedy("put the image on a file system that is not mounted with nodev");
  return ok();
}

// Nothing can be laid over the image here, so the runtime must be in it, and be this one.
Status check_runtime(const std::string& image, const std::string& runtime) {
  constexpr const char* kParts[] = {"/usr/lib/vitrine/_vitrine.so",
                                    "/usr/lib/vitrine/vitrine_runtime/boot.py",
                                    "/usr/lib/vitrine/vitrine_runtime/worker.py"};
  for (const char* part : kParts) {
    Result<std::string> ours = read_file(AT_FDCWD, (runtime + part).c_str(), 64 << 20);
    Result<std::string> theirs = read_file(AT_FDCWD, (image + part).c_str(), 64 << 20);
    if (!ours || !theirs || *ours != *theirs)
      return refused(
          "the image does not hold this program's runtime, and without namespaces nothing can "
          "be laid over it",
          "copy it there: cp -a RUNTIME/X.Y/. IMAGE/root/, as packaging/Dockerfile does");
  }
  return ok();
}

// A container may have been given fewer user ids than there are.
Status check_ids(std::uint32_t first, std::uint32_t count) {
  Result<std::string> map = read_file(AT_FDCWD, "/proc/self/uid_map");
  if (!map) return std::move(map.error());
  std::istringstream lines(*map);
  for (std::uint64_t inside = 0, outside = 0, size = 0; lines >> inside >> outside >> size;)
    if (inside <= first && inside + size >= std::uint64_t{first} + count) return ok();
  return refused("this container has no user ids from " + std::to_string(first) + " on",
                 "start it without user remapping, or allow namespaces: `vitrine doctor`");
}

bool is_ours(const std::string& status, std::uint32_t first, std::uint32_t count) {
  const std::size_t at = status.find("\nUid:");
  if (at == std::string::npos) return false;
  const unsigned long user = std::strtoul(status.c_str() + at + 5, nullptr, 10);
  return user >= first && user < first + count;
}

// A process with the id of a session, if there is one: of another keeper, or of one that just died.
bool ids_are_used(std::uint32_t first, std::uint32_t count) {
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    Result<std::string> status = read_file(AT_FDCWD, ("/proc/" + name + "/status").c_str());
    if (status && is_ours(*status, first, count)) return true;
  }
  return false;
}

Status wait_for_ids(std::uint32_t first, std::uint32_t count) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 50'000'000};
  for (int i = 0; i < 100; ++i) {
    if (!ids_are_used(first, count)) return ok();
    ::nanosleep(&kPause, nullptr);  // wardens of a keeper that died need a moment
  }
  return Error{
      .code = Code::conflict,
      .message = "processes run under the user ids of sessions",
      .remedy = "one server with --isolation-floor container per container: stop the other one"};
}

// `rm` gets along with every tree that hostile code can make, and does not hold up the loop.
pid_t start_rm(const std::string& path) {
  std::string words[] = {"rm", "-rf", "--one-file-system", "--", path};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(),
                  words[3].data(), words[4].data(), nullptr};
  char* envp[] = {nullptr};
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  if (close_range(3, ~0U) != 0) ::_exit(125);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve("/bin/rm", argv, envp);
  ::_exit(127);
}

}  // namespace

Status FloorShells::start() {
  if (::geteuid() != 0)
    return refused(
        "without namespaces and without root, sessions could not be kept apart",
        "start the container as root, its default, or allow namespaces: `vitrine doctor`");
  if (Status s = check_ids(config_.first_user, 2 * kFloorUsers); !s) return s;
  if (Status s = check_runtime(config_.image, config_.runtime); !s) return s;
  root_ = Fd(::open(config_.image.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root_) return Error::from_errno("opening the image");
  if (Status s = make_devices(root_.get()); !s) return s;
  Fd homes(::openat(root_.get(), kHomes, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!homes) return Error::from_errno("opening the image's home");
  if (::flock(homes.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{.code = Code::conflict,
                 .message = "another server uses the image",
                 .remedy = "give each server with --isolation-floor container an image of its own"};
  if (Status s = wait_for_ids(config_.first_user, 2 * kFloorUsers); !s) return s;
  // Its sessions may pass, and not look around.
  if (::fchown(homes.get(), 0, 0) != 0 || ::fchmod(homes.get(), 0711) != 0)
    return Error::from_errno("closing the image's home to others")
        .with_remedy("use an image that can be written to");
  std::error_code failed;
  const std::string path = config_.image + "/" + kHomes;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, failed)) {
    const pid_t rm = start_rm(entry.path());
    if (rm < 0 || ::waitpid(rm, nullptr, 0) != rm) return Error::from_errno("removing old homes");
  }
  lock_ = std::move(homes);
  homes_ = Fd(::openat(root_.get(), kHomes, O_PATH | O_DIRECTORY | O_CLOEXEC));
  Result<jail::LandlockSupport> support = jail::landlock_support();
  if (!support) return std::move(support.error());
  landlock_ = *support;
  // Whoever is left behind by a worker comes to us.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
    return Error::from_errno("becoming the reaper of orphans");
  return ok();
}

Status FloorShells::make_home(Shell& shell, jail::Sys& sys) {
  const std::string name = name_of(shell.id);
  const uid_t user = *shell.user;
  if (sys(::mkdirat, homes_.get(), name.c_str(), 0711) != 0)
    return Error::from_errno("making a home")
        .with_remedy("free some space; the image must be writable");
  Fd directory(::openat(homes_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fchmod(directory.get(), 0711) != 0)
    return Error::from_errno("opening a home");
  for (const char* part : {"home", "tmp"})
    if (sys(::mkdirat, directory.get(), part, 0700) != 0 ||
        sys(::fchownat, directory.get(), part, user, user, 0) != 0)
      return Error::from_errno("making a home");
  shell.home = Fd(::openat(directory.get(), "home", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!shell.home) return Error::from_errno("opening a home");
  if (landlock_.abi == 0) return ok();  // told by info; ids, chroot and seccomp still hold
  const std::string inside = std::string(jail::kFloorHomes) + "/" + name;
  Result<Fd> ruleset = jail::make_ruleset(sys, jail::floor_rules(landlock_, inside), root_.get());
  if (!ruleset) return std::move(ruleset.error());
  shell.ruleset = std::make_shared<const Fd>(std::move(*ruleset));
  return ok();
}

Status FloorShells::post_warden(Shell& shell, jail::Sys& sys) {
  Result<FdPair> lifeline = make_pipe();
  if (!lifeline) return std::move(lifeline.error());
  const uid_t user = *shell.user;
  const pid_t pid = sys(::fork);
  if (pid < 0) return Error::from_errno("posting a warden");
  if (pid == 0) stand_guard(lifeline->first.get(), user, user + kFloorUsers);
  shell.init = pid;
  shell.init_gone = false;
  shell.lifeline = std::move(lifeline->second);
  return ok();
}

void FloorShells::watch_warden(Shell& shell) {
  reaper_.watch(shell.init, [this, &shell](Ending) {
    // Nobody let go of the lifeline: somebody killed it, such as the OOM killer. No session is left alone.
    if (jail::Sys sys; shell.lifeline && post_warden(shell, sys)) return watch_warden(shell);
    shell.init_gone = true;
    if (auto told = std::exchange(shell.on_init_gone, {})) told();  // it may end the shell
  });
}

Result<std::unique_ptr<Shell>> FloorShells::make(const Limits& limits) {
  auto shell = std::make_unique<Shell>();
  shell->id = ++last_id_;
  shell->limits = limits;
  if (free_slots_.empty() && next_slot_ == kFloorUsers)
    return Error{Code::over_limit, "no user id is left for another session"};
  if (free_slots_.empty()) {
    shell->slot = next_slot_++;
  } else {
    shell->slot = free_slots_.back();
    free_slots_.pop_back();
  }
  shell->user = config_.first_user + shell->slot;
  jail::Sys sys(faults_ ? faults_() : 0);
  Status made = make_home(*shell, sys);
  if (made) made = post_warden(*shell, sys);
  if (made) {
    watch_warden(*shell);
    return shell;
  }
  remove_home(shell->id, {});
  free_slots_.push_back(shell->slot);
  return std::move(made.error());
}

void FloorShells::build(const Limits& limits, Built built) {
  Result<std::unique_ptr<Shell>> shell = make(limits);
  if (!shell) {
    Error error = std::move(shell.error()).as_ours().during("building a shell");
    loop_.after({}, [built = std::move(built), error = std::move(error)] { built(error); });
    return;
  }
  Shell* made = shell->get();
  shells_[made->id] = std::move(*shell);
  loop_.after({}, [built = std::move(built), made] { built(made); });
}

Result<Fd> FloorShells::join_fd(const Shell& shell) const { return duplicate(shell.home.get()); }

Status FloorShells::place_worker(Shell&, int pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/oom_score_adj";
  Status written = write_file(AT_FDCWD, path.c_str(), "1000");
  if (!written) return std::move(written.error()).during("offering it to the OOM killer");
  return ok();
}

void FloorShells::kill_all(const std::shared_ptr<Shell>& shell, int tries,
                           std::function<void(bool)> dead) {
  auto ended = [this, shell, tries, dead](Ending ending) {
    shell->init_gone = true;
    if (!ending.signalled && ending.code == 0) return dead(true);
    if (tries == 0) return dead(false);
    jail::Sys sys;
    if (!post_warden(*shell, sys)) return dead(false);
    kill_all(shell, tries - 1, dead);
  };
  shell->lifeline.reset();
  if (shell->init_gone) return ended({.signalled = true});  // a warden that fell before its time
  reaper_.watch(shell->init, ended);
}

void FloorShells::remove_home(std::uint64_t shell, std::function<void()> removed) {
  const pid_t rm = start_rm(config_.image + "/" + kHomes + "/" + name_of(shell));
  const auto done = [removed = std::move(removed)](Ending ending) {
    if (ending.signalled || ending.code != 0) log_error("a session's home could not be removed");
    if (removed) removed();
  };
  if (rm < 0) return static_cast<void>(loop_.after({}, [done] { done({.signalled = true}); }));
  reaper_.watch(rm, done);
}

void FloorShells::listen(const Shell& /*shell*/, std::uint16_t /*port*/,
                         std::function<void(Result<Fd>)> listening) {
  loop_.after({}, [listening = std::move(listening)] {
    listening(Error{.code = Code::unsupported,
                    .message = "sessions of this server cannot have a network: its host forbids "
                               "network namespaces",
                    .remedy = "leave `network` out, or run the server with the full jail"});
  });
}

void FloorShells::mount_layers(const Shell& /*shell*/, const LayerList& /*layers*/,
                               const std::string& /*environment*/,
                               std::function<void(Status)> done) {
  loop_.after({}, [done = std::move(done)] {
    done(Error{.code = Code::unsupported,
               .message = "sessions of this server cannot have packages of their own: its host "
                          "forbids mounts",
               .remedy = "do without, or run the server with the full jail"});
  });
}

Status FloorShells::start_display(StartDisplay /*request*/, const std::vector<int>& /*fds*/,
                                  std::function<void(Result<int>)> /*cloned*/) {
  return Error{
      .code = Code::unsupported,
      .message = "sessions of this server have no display: its host forbids namespaces",
      .remedy = "run the server with the full jail; `vitrine doctor` says what is missing"};
}

void FloorShells::retire(Shell* shell, std::function<void()> gone) {
  auto found = shells_.find(shell->id);
  std::shared_ptr<Shell> last = std::move(found->second);
  shells_.erase(found);
  last->on_init_gone = {};
  last->home.reset();
  ++retiring_;
  kill_all(last, kKillTries, [this, last, gone = std::move(gone)](bool dead) {
    // An id that somebody still has is never given to another session.
    if (dead) free_slots_.push_back(last->slot);
    else log_error("processes of a session cannot be killed; its user id is not used again");
    remove_home(last->id, [this, gone] {
      --retiring_;
      if (gone) gone();
    });
  });
}

Status FloorShells::start_zygote(const StartZygote& request, int socket, int zygote_filter,
                                 int worker_filter, std::function<void(Result<int>)> started) {
  std::vector<char*> argv;
  for (const std::string& text : request.argv) argv.push_back(const_cast<char*>(text.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (const std::string& text : request.environment)
    envp.push_back(const_cast<char*>(text.c_str()));
  envp.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno("forking a zygote");
  if (pid > 0) {
    loop_.after({}, [started = std::move(started), pid] { started(pid); });
    return ok();
  }
  const auto fail = [](const Error& error) {
    const std::string text = "vitrine: zygote: " + error.describe() + "\n";
    (void)!::write(2, text.data(), text.size());
    ::_exit(125);
  };
  constexpr int kAbove = 200;
  const int kept[] = {socket, zygote_filter, worker_filter, root_.get()};
  int high[4];
  for (int i = 0; i < 4; ++i) high[i] = ::fcntl(kept[i], F_DUPFD_CLOEXEC, kAbove);
  for (int i = 0; i < 3; ++i)
    if (high[i] < 0 || ::dup2(high[i], kZygoteControl + i) < 0) ::_exit(125);
  if (high[3] < 0 || ::dup3(high[3], kWorkerFilter + 1, O_CLOEXEC) < 0 ||
      close_range(kWorkerFilter + 2, ~0U) != 0)
    ::_exit(125);
  ::setsid();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  if (Result<Packet> go = receive_packet(kZygoteControl, 16, 0); !go) ::_exit(125);
  jail::Sys sys;
  if (Status s = jail::enter_floor_root(sys, kWorkerFilter + 1); !s) fail(s.error());
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0 || ::dup2(null, 0) != 0) fail(Error::from_errno("opening /dev/null"));
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    fail(Error::from_errno("asking to die with the keeper"));
  ::execve(argv[0], argv.data(), envp.data());
  fail(Error::from_errno("starting the image's Python"));
  ::_exit(125);
}

}  // namespace vitrine::keeper
