// SPDX-License-Identifier: Apache-2.0
// From what a client wants to import to the package layers that its session gets.
//
// Names become requirements (packages/names.h); the same wish finds its layers again without asking
// anybody; else it is installed (provision/installer.h). Of equal wishes one is worked on, and all wait
// for it; when nobody waits any more it is given up.
// Ownership: one per front. Threading: the front's one thread. It must outlive its callers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "packages/config.h"
#include "packages/layers.h"
#include "provision/fair_queue.h"
#include "provision/index_access.h"
#include "provision/installer.h"
#include "provision/inventories.h"
#include "provision/package_request.h"
#include "session/condition.h"
#include "session/registry.h"

namespace vitrine::provision {

class Provisioner {
 public:
  using Progress = std::function<void(const std::string& text)>;

  Provisioner(asio::any_io_executor executor, session::Registry& registry,
              session::Accounts& accounts, backend::KeeperLink& keeper, packages::Config config,
              packages::Layers layers);

  ~Provisioner();
  Provisioner(const Provisioner&) = delete;
  Provisioner& operator=(const Provisioner&) = delete;

  Task<Result<Provided>> provide(PackageRequest wish, Progress progress);
  // For callers that can wait only so long, and show nothing meanwhile: `unavailable` while it goes on.
  Task<Result<Provided>> provide_within(PackageRequest wish, std::chrono::milliseconds patience);
  // Of layers that a session could not get. One whose files are gone is forgotten, so that whoever asks
  // next has it installed again.
  Error explain_layers(const LayerList& layers, Error error);

  const packages::Config& config() const { return config_; }
  packages::Layers& layers() { return layers_; }
  // Removes what no session uses until `budget` is kept; how many.
  std::size_t prune(std::uint64_t budget);
  std::uint64_t installations() const { return installer_.installations(); }

 private:
  // An installation on its way, and those who wait for it.
  struct PendingInstall {
    std::shared_ptr<InstallSession> installation;
    std::string owner;
    packages::Layers::Hold base;  // the layers that it adds to
    FairQueue::Ticket turn;       // of those that install at once
    std::optional<Result<Provided>> result;
    int waiting = 0;
    bool orphaned = false;  // the provisioner is gone: the server ends
  };

  Task<Status> read_names(const PackageRequest& wish, Provided& out,
                          std::vector<std::string>& requirements);
  // What is known of the same request: of a session with these packages, or of one without any.
  std::optional<LayerList> recall(const std::vector<std::string>& requirements,
                                  const PackageRequest& wish, const std::string& key) const;
  InstallJob job_of(std::vector<std::string> requirements, const PackageRequest& wish,
                    std::string key) const;
  Task<void> run_install(std::string key, std::shared_ptr<PendingInstall> pending);
  std::string request_key(const std::vector<std::string>& requirements,
                          const PackageRequest& wish) const;

  asio::any_io_executor executor_;
  session::Registry& registry_;
  session::Accounts& accounts_;
  packages::Config config_;
  packages::Layers layers_;
  IndexAccess index_;
  Inventories inventories_;
  Installer installer_;
  std::unordered_map<std::string, std::shared_ptr<PendingInstall>> pending_;  // by request_key()
  FairQueue turns_;
  session::Condition changed_;  // turns may have changed
};

}  // namespace vitrine::provision
