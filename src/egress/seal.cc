// SPDX-License-Identifier: Apache-2.0
#include "egress/seal.h"

#include <seccomp.h>

#include "seal/seal.h"

namespace vitrine::egress {

namespace {

constexpr int kCalls[] = {SCMP_SYS(epoll_create1), SCMP_SYS(bind)};

constexpr seal::Limit kLimits[] = {
    {RLIMIT_CORE, 0},          {RLIMIT_FSIZE, 0},   {RLIMIT_NOFILE, 256},
    {RLIMIT_DATA, 256u << 20}, {RLIMIT_MEMLOCK, 0}, {RLIMIT_MSGQUEUE, 0},
};

}  // namespace

Status seal_proxy() {
  return seal::apply({.base = seal::Base::network, .calls = kCalls, .limits = kLimits});
}

}  // namespace vitrine::egress
