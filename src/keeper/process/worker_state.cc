// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/worker_state.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <cstdio>
#include <string>

#include "base/fd.h"

namespace vitrine::keeper {

bool waits_for_message(std::string_view syscall) {
  // "271 0x7ffd... 0x1 0x0 ...": number, descriptors, their count, the timeout.
  long number = -1;
  unsigned long count = 0;
  unsigned long timeout = 1;
  return std::sscanf(std::string(syscall).c_str(), "%ld %*x %lx %lx", &number, &count, &timeout) ==
             3 &&
         number == SYS_ppoll && count == 1 && timeout == 0;
}

bool worker_waits_for_message(int pid) {
  if (pid <= 0) return false;
  const std::string path = "/proc/" + std::to_string(pid) + "/syscall";
  Result<std::string> call = read_file(AT_FDCWD, path.c_str(), 4096);
  return call && waits_for_message(*call);
}

}  // namespace vitrine::keeper
