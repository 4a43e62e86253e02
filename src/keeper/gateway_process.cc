// SPDX-License-Identifier: Apache-2.0
#include "keeper/gateway_process.h"

#include <csignal>
#include <string>

#include "keeper/log.h"
#include "keeper/spawn_helper.h"

namespace vitrine::keeper {

Result<Fd> GatewayProcess::start(std::uint64_t owner) {
  if (!program_)
    return Error{.code = Code::unsupported,
                 .message = "an index with credentials cannot be used: there is no vitrine-gateway",
                 .remedy = "build it: ./dev build"};
  stop();
  Result<FdPair> pair = make_socketpair();
  if (!pair) return std::move(pair.error());
  Result<int> pid = spawn_helper(
      {.name = "vitrine-gateway", .program = program_.get(), .user = user_}, pair->second.get());
  if (!pid) return std::move(pid.error());
  pid_ = *pid;
  owner_ = owner;
  reaper_.watch(*pid, [this, pid = *pid](Ending ending) {
    const bool wanted = pid_ == pid;  // nobody has stopped it
    if (wanted) pid_ = 0;
    if (wanted && (ending.signalled || ending.code != 0))
      log_warning(std::string("the index gateway ") +
                  (ending.signalled ? "was ended by signal " : "exited with status ") +
                  std::to_string(ending.code));
  });
  return std::move(pair->first);
}

void GatewayProcess::owner_left(std::uint64_t owner) {
  if (owner == owner_) stop();
}

void GatewayProcess::stop() {
  if (pid_ > 0) reaper_.signal(pid_, SIGKILL);
  pid_ = 0;
}

}  // namespace vitrine::keeper
