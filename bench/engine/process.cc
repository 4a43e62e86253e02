// SPDX-License-Identifier: Apache-2.0
#include "engine/process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

namespace vitrine::bench {

namespace {

constexpr std::chrono::seconds kStopTime{10};
constexpr int kAbove = 200;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

[[noreturn]] void become(const Start& what) {
  auto fail = [](const std::string& text) {
    std::fprintf(stderr, "engine_bench: %s\n", text.c_str());
    ::_exit(127);
  };
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<int> high;
  for (const auto& [own, theirs] : what.fds) high.push_back(::fcntl(own, F_DUPFD, kAbove));
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, 0);
  for (std::size_t i = 0; i < high.size(); ++i) ::dup2(high[i], what.fds[i].second);
  ::syscall(SYS_close_range, kAbove, ~0u, 0);
  if (what.prepare)
    if (Status s = what.prepare(); !s) fail(s.error().describe());
  const auto argv = pointers(what.argv);
  if (what.environment.empty()) ::execvp(argv[0], argv.data());
  else ::execvpe(argv[0], argv.data(), pointers(what.environment).data());
  fail(Error::from_errno("starting " + what.argv[0]).describe());
  ::_exit(127);
}

Status write_map(const char* path, const std::string& text) {
  return write_file(AT_FDCWD, path, text);
}

}  // namespace

Result<Process> start(const Start& what) {
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno("forking");
  if (pid == 0) become(what);
  return Process(pid);
}

int Process::stop() {
  if (pid_ < 0) return 0;
  int status = 0;
  ::kill(pid_, SIGTERM);
  const auto until = std::chrono::steady_clock::now() + kStopTime;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) ::kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pid_ = -1;
  return status;
}

int Process::wait() {
  int status = -1;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

Result<ImageRoot> image_root(const std::string& layer, const std::string& runtime,
                             const std::string& image, const std::string& mount_point) {
  namespace fs = std::filesystem;
  std::error_code unreadable;
  for (const fs::directory_entry& entry : fs::directory_iterator(runtime, unreadable)) {
    const std::string version = entry.path().filename();
    if (fs::exists(image + "/root/usr/bin/python" + version))
      return ImageRoot{{layer + "/" + version, runtime + "/" + version, image + "/root"},
                       mount_point};
  }
  return Error{.code = Code::not_found,
               .message = "there is no session runtime for the image's Python",
               .remedy = "build it: ./dev build release"};
}

Status enter_image(const ImageRoot& root) {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (::unshare(CLONE_NEWNS | (uid == 0 ? 0 : CLONE_NEWUSER)) != 0)
    return Error::from_errno("making a mount namespace");
  if (uid != 0) {
    if (Status s = write_map("/proc/self/setgroups", "deny"); !s) return s;
    if (Status s = write_map("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1"); !s) return s;
    if (Status s = write_map("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1"); !s) return s;
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return Error::from_errno("making the mounts private");
  std::string lower = "lowerdir=";
  for (const std::string& layer : root.layers)
    lower += (&layer == root.layers.data() ? "" : ":") + layer;
  if (::mount("overlay", root.mount_point.c_str(), "overlay", MS_RDONLY, lower.c_str()) != 0)
    return Error::from_errno("mounting the image");
  for (const char* name : {"/dev", "/proc"})
    if (::mount(name, (root.mount_point + name).c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
      return Error::from_errno("binding a directory of the host");
  for (const char* name : {"/tmp", "/home/sandbox"})
    if (::mount("tmpfs", (root.mount_point + name).c_str(), "tmpfs", 0, nullptr) != 0)
      return Error::from_errno("mounting scratch space");
  if (::chroot(root.mount_point.c_str()) != 0 || ::chdir("/home/sandbox") != 0)
    return Error::from_errno("entering the image");
  return ok();
}

std::vector<std::string> plain_environment() {
  return {"PATH=/home/sandbox/.local/bin:/usr/local/bin:/usr/bin:/bin",
          "HOME=/home/sandbox",
          "USER=sandbox",
          "LOGNAME=sandbox",
          "SHELL=/bin/bash",
          "LANG=C.UTF-8",
          "TZ=UTC",
          "TERM=dumb",
          "TMPDIR=/tmp",
          "MPLBACKEND=agg",
          "OMP_NUM_THREADS=1",
          "OPENBLAS_NUM_THREADS=1",
          "ARROW_DEFAULT_MEMORY_POOL=system",
          "JE_ARROW_MALLOC_CONF=background_thread:false",
          "PYTHONDONTWRITEBYTECODE=1"};
}

std::vector<std::string> zygote_environment() {
  std::vector<std::string> variables = plain_environment();
  for (std::string& one : variables)
    if (one.starts_with("MPLBACKEND")) one = "MPLBACKEND=module://vitrine_runtime.mpl_backend";
  variables.emplace_back("LD_PRELOAD=/usr/lib/vitrine/_vitrine.so");
  variables.emplace_back("LD_BIND_NOW=1");
  variables.emplace_back("GLIBC_TUNABLES=glibc.malloc.hugetlb=1");
  return variables;
}

}  // namespace vitrine::bench
