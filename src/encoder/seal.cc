// SPDX-License-Identifier: Apache-2.0
#include "encoder/seal.h"

#include <linux/close_range.h>
#include <seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "seal/seal.h"

namespace vitrine::encoder {

namespace {

constexpr int kFirstOther = 4;
constexpr rlim_t kMaxDescriptors = kFirstOther + 3;  // the screen, the file, a timer
constexpr rlim_t kMaxMemory = 2ull << 30;
constexpr int kNiceness = 10;

constexpr int kCalls[] = {SCMP_SYS(pwrite64)};

}  // namespace

Status close_others() {
  if (::syscall(SYS_close_range, kFirstOther, ~0u, 0) != 0)
    return Error::from_errno("closing descriptors");
  return ok();
}

Status seal_encoder(std::uint64_t max_file_bytes) {
  errno = 0;
  if (::nice(kNiceness) == -1 && errno != 0) return Error::from_errno("lowering the priority");
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit fails instead
  const seal::Limit limits[] = {{RLIMIT_CORE, 0},
                                {RLIMIT_FSIZE, max_file_bytes},
                                {RLIMIT_AS, kMaxMemory},
                                {RLIMIT_NOFILE, kMaxDescriptors},
                                {RLIMIT_NPROC, 0}};
  // abort() ends itself only.
  const seal::Condition conditions[] = {
      {.call = SCMP_SYS(tgkill), .value = static_cast<std::uint64_t>(::getpid())}};
  return seal::apply(
      {.calls = kCalls, .conditions = conditions, .limits = limits, .refusal = EPERM});
}

}  // namespace vitrine::encoder
