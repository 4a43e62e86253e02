// SPDX-License-Identifier: Apache-2.0
// Starts workers: a fork of a zygote that joins a shell, seals itself there and says that it is ready.
//
// Ownership: takes a shell; gives it back inside a ProcessSandbox, or retires it if the start fails: a
//            shell in which something failed is not used again.
// Threading: the keeper's loop.
#pragma once

#include <functional>
#include <memory>

#include "keeper/process/process_sandbox.h"
#include "keeper/process/zygotes.h"

namespace vitrine::keeper {

class WorkerStarter {
 public:
  struct Started {
    std::unique_ptr<ProcessSandbox> sandbox;
    Source source = Source::forked;
  };
  enum class Rehearse { no, yes };
  // Where its shell comes from: a recycled one renews its scratch space.
  enum class Shelter { fresh, recycled, kept };
  struct How {
    Source source = Source::forked;
    Shelter shelter = Shelter::fresh;
    Rehearse rehearse = Rehearse::no;
  };

  WorkerStarter(ProcessParts parts, Zygotes& zygotes, ProcessSandbox::Pool& pool)
      : parts_(parts), zygotes_(zygotes), pool_(pool) {}

  // `started` is called once, later.
  void start(Shell* shell, const SandboxSpec& spec, How how, Answer<Started> started);
  // Which zygote it would be forked from now. That of a policy starts when the policy is first asked for;
  // until it is warm, its sessions come from the ordinary one and import what they need themselves.
  ZygoteKey key_for(const SandboxSpec& spec);
  void inject_faults(Faults faults) { faults_ = std::move(faults); }

 private:
  struct Start {
    std::unique_ptr<ProcessSandbox> sandbox;
    Source source = Source::forked;
    Answer<Started> started;
    TimerId timer = 0;
    bool joined = false;
    bool ready = false;
  };

  Result<ForkFds> prepare_descriptors(ProcessSandbox& sandbox, wire::ForkRequest& request);
  void worker_forked(const std::shared_ptr<Start>& start, Result<ForkedWorker> forked);
  void worker_spoke(const std::shared_ptr<Start>& start);
  static Error last_words(const Start& start, Error otherwise);
  void conclude(const std::shared_ptr<Start>& start);
  void abandon(const std::shared_ptr<Start>& start, Error error);

  ProcessParts parts_;
  Zygotes& zygotes_;
  ProcessSandbox::Pool& pool_;
  Faults faults_;
};

}  // namespace vitrine::keeper
