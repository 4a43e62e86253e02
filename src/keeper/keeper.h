// SPDX-License-Identifier: Apache-2.0
// The keeper: control socket, sessions, isolations, the front; from its start until nothing of it is left.
//
// Ownership: it owns every part, and with them every process that is started.
// Threading: one, which runs the loop in run().
// Failure:   start() says what is missing, with a remedy; nothing that was begun outlives the object.
// Trust:     see keeper/control.h for clients, keeper/isolation.h for what runs in sessions.
//
// Of the process it changes only its signal mask; prepare_process() (keeper/host.h) is the caller's.
#pragma once

#include <optional>
#include <string>

#include "keeper/control.h"
#include "keeper/encoders.h"
#include "keeper/front.h"
#include "keeper/gateway_process.h"
#include "keeper/host.h"
#include "keeper/options.h"
#include "keeper/process/process_backend.h"
#include "keeper/programs.h"
#include "keeper/sessions.h"
#include "keeper/tokens.h"

namespace vitrine::keeper {

class Keeper {
 public:
  Keeper(Loop loop, Options options);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  Status start();
  // Until a signal, the front's failure or stop() ends it; the exit code of the process.
  int run();
  // Ends the front, then the sessions, then the rest; run() returns when that is done.
  void stop();
  KeeperInfo info() const;

 private:
  Status start_front(std::optional<uid_t> user);
  Status handle_signals();
  Status watch_parent();
  void fail(int exit_code);
  void announce_when_full();
  void wait_until_empty(Clock::time_point latest);

  Loop loop_;
  const Options options_;
  const std::string instance_;  // tells this keeper from all others, before and after
  Programs programs_;
  SealedFilters filters_;
  Host host_;
  Fd signals_;
  Fd parent_;      // of an ephemeral one
  Reaper reaper_;  // its handlers hold shells, and those their cgroups
  ProcessBackend process_;
  std::optional<Sessions> sessions_;
  std::optional<Encoders> encoders_;
  std::optional<GatewayProcess> gateway_;
  Control control_;
  std::optional<Front> front_;
  std::optional<Tokens> tokens_;
  bool announced_ = false;
  bool front_ready_ = false;
  bool stopping_ = false;
  int exit_code_ = 0;
};

}  // namespace vitrine::keeper
