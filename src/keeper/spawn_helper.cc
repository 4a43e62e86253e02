// SPDX-License-Identifier: Apache-2.0
#include "keeper/spawn_helper.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

namespace vitrine::keeper {

namespace {

constexpr int kControl = 3;
constexpr int kProgram = 4;
constexpr int kOutOfTheWay = 100;

}  // namespace

Result<int> spawn_helper(const HelperProgram& helper, int socket) {
  // Prepared before the fork: the child only makes system calls.
  char* argv[] = {const_cast<char*>(helper.name), nullptr};
  char locale[] = "LANG=C.UTF-8";
  char* envp[] = {locale, nullptr};
  const pid_t keeper = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno("forking a helper");
  if (pid > 0) return pid;
  const int control = ::fcntl(socket, F_DUPFD_CLOEXEC, kOutOfTheWay);
  const int program = ::fcntl(helper.program, F_DUPFD_CLOEXEC, kOutOfTheWay);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (control < 0 || program < 0 || nothing < 0 || ::dup2(nothing, 0) < 0 ||
      ::dup2(nothing, 1) < 0 || ::dup2(control, kControl) < 0 ||
      ::dup3(program, kProgram, O_CLOEXEC) < 0)
    ::_exit(125);
  ::syscall(SYS_close_range, kProgram + 1, ~0U, 0);
  ::setsid();
  if (helper.nice != 0) ::setpriority(PRIO_PROCESS, 0, helper.nice);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (helper.user && (::setresgid(*helper.user, *helper.user, *helper.user) != 0 ||
                      ::setresuid(*helper.user, *helper.user, *helper.user) != 0))
    ::_exit(125);
  // After the change of ids, which resets the parent-death signal.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || ::getppid() != keeper)
    ::_exit(125);
  ::syscall(SYS_execveat, kProgram, "", argv, envp, AT_EMPTY_PATH);
  ::_exit(127);
}

}  // namespace vitrine::keeper
