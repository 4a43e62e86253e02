// SPDX-License-Identifier: Apache-2.0
// vitrine-egress: the network proxy of one session; started by the keeper, see keeper/process/egress.h.
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/packet.h"
#include "egress/proxy.h"
#include "egress/seal.h"

namespace vitrine::egress {

namespace {

// The descriptors that the keeper passes; see keeper's egress.h.
constexpr int kListener = 3;
constexpr int kLine = 4;
constexpr int kSetup = 5;
constexpr int kCounters = 6;
constexpr std::size_t kMaxSetup = 64 * 1024;
constexpr int kResolvers = 2;

Result<wire::EgressSetup> read_setup() {
  const Fd pipe(kSetup);
  std::string bytes(kMaxSetup, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < bytes.size();) {
    got = ::read(pipe.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno != EINTR) return Error::from_errno("reading the rules");
    size += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  return wire::decode_egress_setup(std::string_view(bytes).substr(0, size));
}

int run() {
  ::prctl(PR_SET_NAME, "vitrine-egress", 0, 0,
          0);  // a program started from a descriptor has no name
  ::signal(SIGPIPE, SIG_IGN);
  for (int fd : {kListener, kLine, kSetup, kCounters}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::mallopt(M_ARENA_MAX, 1);
  // Lookups use the name as given, and have a time limit.
  ::setenv("LOCALDOMAIN", "", 1);
  ::setenv("RES_OPTIONS", "timeout:3 attempts:2", 1);
  Result<wire::EgressSetup> setup = read_setup();
  if (!setup) return 2;
  Result<Policy> policy = Policy::make(*setup);
  if (!policy) return 2;
  constexpr std::size_t kSize = sizeof(wire::EgressCounter) * wire::kEgressCounters;
  void* counters = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, kCounters, 0);
  if (counters == MAP_FAILED) return 1;
  auto* slots = static_cast<wire::EgressCounter*>(counters);
  for (std::size_t i = 0; i < wire::kEgressCounters; ++i) slots[i] = {};
  (void)system_lookup(
      "localhost");  // loads the resolver's libraries while the seal does not forbid it
  Result<Resolver> resolver = Resolver::start(system_lookup, kResolvers);
  if (!resolver) return 1;
  if (!seal_proxy()) return 1;
  Fd line(kLine);
  const std::string started = wire::encode_egress(wire::ProxyStarted{setup->starts});
  if (!send_packet(line.get(), started, {}, Wait::dont)) return 1;
  Proxy proxy({.listener = Fd(kListener),
               .line = std::move(line),
               .counters = slots,
               .policy = std::move(*policy),
               .resolver = std::move(*resolver)});
  // The resolver's threads are still running: nothing may be destroyed under them.
  ::_exit(proxy.run() ? 0 : 1);
}

}  // namespace

}  // namespace vitrine::egress

int main() { return vitrine::egress::run(); }
