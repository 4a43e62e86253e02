// SPDX-License-Identifier: Apache-2.0
// Apart from the compiler: the zygote loads filters and must not need libseccomp for it.
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "jail/seccomp.h"

namespace vitrine::jail {

Status install_filter(Sys& sys, std::span<const sock_filter> program) {
  if (program.empty() || program.size() > BPF_MAXINSNS)
    return Error{Code::invalid_argument, "a system call filter has an impossible length"};
  // The kernel only reads; its struct is not const-correct.
  sock_fprog whole{static_cast<unsigned short>(program.size()),
                   const_cast<sock_filter*>(program.data())};
  const auto load = [](const sock_fprog* filter) {
    return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter));
  };
  if (sys(load, &whole) != 0) return Error::from_errno("loading a system call filter");
  return ok();
}

std::string_view filter_bytes(std::span<const sock_filter> program) {
  return {reinterpret_cast<const char*>(program.data()), program.size_bytes()};
}

Result<std::vector<sock_filter>> filter_from_bytes(std::string_view bytes) {
  if (bytes.empty() || bytes.size() % sizeof(sock_filter) != 0 ||
      bytes.size() / sizeof(sock_filter) > BPF_MAXINSNS)
    return Error{Code::invalid_argument, "a system call filter has an impossible length"};
  std::vector<sock_filter> program(bytes.size() / sizeof(sock_filter));
  std::memcpy(program.data(), bytes.data(), bytes.size());
  return program;
}

}  // namespace vitrine::jail
