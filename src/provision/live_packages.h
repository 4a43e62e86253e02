// SPDX-License-Identifier: Apache-2.0
// Packages for sessions that live: asked for by a client, or by the session's own code while it runs.
// One at a time is added to a session, each above what it has when its turn comes, so that none is lost.
//
// Ownership: one per front. Threading: the front's one thread. It must outlive its callers.
// Trust:     what code asks for is as hostile as the code.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "provision/provisioner.h"

namespace vitrine::provision {

class LivePackages {
 public:
  LivePackages(asio::any_io_executor executor, session::Registry& registry,
               Provisioner& provisioner)
      : executor_(executor),
        registry_(registry),
        provisioner_(provisioner),
        live_(std::make_shared<Live>(executor)) {}
  ~LivePackages() { live_->orphaned = true; }
  LivePackages(const LivePackages&) = delete;
  LivePackages& operator=(const LivePackages&) = delete;

  // The right to add to a session, held until its layers are mounted.
  class Turn;
  // Beside what the session has when its turn comes.
  Task<Result<Provided>> provide_for(std::shared_ptr<session::Session> session, PackageRequest wish,
                                     Provisioner::Progress progress, std::shared_ptr<Turn>* turn);
  // Answers what session code asks for, for ever.
  Task<void> serve(session::PackageQuestions& questions);

 private:
  // Answers a worker that asks for packages while its code runs: {"packages": [...]} or, when it
  // has them, {"added": [...]}, or {"code", "detail", "remedy"}. A newer question of the same execution
  // takes the place of the one that it did not wait for; what has ended is not waited for either.
  Task<void> answer(std::shared_ptr<session::Session> session,
                    std::shared_ptr<session::Execution> execution,
                    std::vector<std::string> packages);

  // What waits for a live session; it may outlive this object when the server ends.
  struct Asked {
    explicit Asked(asio::any_io_executor executor) : changes(std::move(executor)) {}
    std::optional<std::vector<std::string>> newest;
    session::Condition changes;
  };
  struct Live {
    explicit Live(asio::any_io_executor executor) : changes(std::move(executor)) {}
    std::set<std::string> adding;  // sessions whose turn somebody has
    std::map<std::shared_ptr<session::Execution>, std::shared_ptr<Asked>> questions;
    bool orphaned = false;
    session::Condition changes;
  };

  // None if the execution ended, or asked for something else, before it was there.
  Task<std::optional<Result<Provided>>> provided_while_asked(
      std::shared_ptr<session::Session> session, std::shared_ptr<session::Execution> execution,
      std::shared_ptr<Asked> asked, PackageRequest wish, std::shared_ptr<Turn>* turn);

  asio::any_io_executor executor_;
  session::Registry& registry_;
  Provisioner& provisioner_;
  std::shared_ptr<Live> live_;
};

}  // namespace vitrine::provision
