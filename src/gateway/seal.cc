// SPDX-License-Identifier: Apache-2.0
#include "gateway/seal.h"

#include <linux/netlink.h>
#include <seccomp.h>

#include "seal/seal.h"

namespace vitrine::gateway {

namespace {

constexpr int kCalls[] = {SCMP_SYS(timerfd_settime), SCMP_SYS(accept)};

// The resolver asks the kernel for its addresses by netlink, and only such an address is so short: no
// socket can be bound to a port. Listening is not allowed at all.
constexpr seal::Condition kConditions[] = {
    {.call = SCMP_SYS(bind), .argument = 2, .value = sizeof(sockaddr_nl)},
};

constexpr seal::Limit kLimits[] = {
    {RLIMIT_CORE, 0},          {RLIMIT_FSIZE, 0},   {RLIMIT_NOFILE, 512},
    {RLIMIT_DATA, 512u << 20}, {RLIMIT_MEMLOCK, 0}, {RLIMIT_MSGQUEUE, 0},
};

}  // namespace

Status seal_gateway() {
  return seal::apply(
      {.base = seal::Base::network, .calls = kCalls, .conditions = kConditions, .limits = kLimits});
}

}  // namespace vitrine::gateway
