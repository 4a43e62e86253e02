// SPDX-License-Identifier: Apache-2.0
// The process that adds a package index's credentials to the requests of installations
// (src/gateway/gateway.h).
//
// Ownership: at most one runs. It belongs to the connection that requested it; it is killed when that
//            connection closes, when another one is requested, and when the keeper stops.
// Threading: the keeper's loop.
// Trust:     it parses hostile answers and holds credentials that the keeper never sees.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/fd.h"
#include "keeper/reaper.h"

namespace vitrine::keeper {

class GatewayProcess {
 public:
  // Without a program start() is `unsupported`. `user`: none = the keeper's own.
  GatewayProcess(Reaper& reaper, Fd program, std::optional<uid_t> user)
      : reaper_(reaper), program_(std::move(program)), user_(user) {}

  // The front's end of its socket; the keeper keeps neither end. `owner` is the connection that asked.
  Result<Fd> start(std::uint64_t owner);
  void owner_left(std::uint64_t owner);
  void stop();

  int pid() const { return pid_; }  // 0 = none runs

 private:
  Reaper& reaper_;
  Fd program_;
  std::optional<uid_t> user_;
  std::uint64_t owner_ = 0;
  int pid_ = 0;
};

}  // namespace vitrine::keeper
