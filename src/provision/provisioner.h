// SPDX-License-Identifier: Apache-2.0
// From what a client wants to import to a package layer that its session gets.
//
// Names become requirements (packages/names.h); the same wish finds its layer again without asking
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
#include "provision/index_access.h"
#include "provision/installer.h"
#include "provision/inventories.h"
#include "provision/package_wish.h"
#include "provision/turns.h"
#include "session/changes.h"
#include "session/registry.h"

namespace vitrine::provision {

// Modules and requirement strings as ADDITIONAL_IMPORTS and OpenEnv's clients mix them.
void add_imports(const std::vector<std::string>& names, session::SessionSpec& spec);

class Provisioner {
 public:
  using Progress = std::function<void(const std::string& text)>;

  Provisioner(asio::any_io_executor executor, session::Registry& registry, packages::Config config,
              packages::Layers layers);

  ~Provisioner();
  Provisioner(const Provisioner&) = delete;
  Provisioner& operator=(const Provisioner&) = delete;

  Task<Provided> provide(PackageWish wish, Progress progress);
  // For callers that can wait only so long, and show nothing meanwhile: `unavailable` while it goes on.
  Task<Status> provide_in_time(session::SessionSpec* spec, std::chrono::milliseconds patience);
  // Puts what was provided into the spec of a session that is to be made.
  static void apply(const Provided& provided, session::SessionSpec& spec);

  const packages::Config& config() const { return config_; }
  packages::Layers& layers() { return layers_; }
  // Removes what no session uses until `budget` is kept; how many.
  std::size_t prune(std::uint64_t budget);
  std::uint64_t installations() const { return installer_.installations(); }

 private:
  // An installation on its way, and those who wait for it.
  struct Flight {
    std::shared_ptr<Workshop> workshop;
    std::string owner;
    Turns::Ticket turn;  // of those that install at once
    std::optional<Provided> result;
    int waiting = 0;
    bool orphaned = false;  // the provisioner is gone: the server ends
  };

  Task<std::optional<PackageTrouble>> read_names(const PackageWish& wish, Provided& out,
                                                 std::vector<std::string>& requirements);
  Task<void> fly(std::string key, std::shared_ptr<Flight> flight);
  std::string wish_key(const std::vector<std::string>& requirements, const PackageWish& wish) const;

  asio::any_io_executor executor_;
  session::Registry& registry_;
  packages::Config config_;
  packages::Layers layers_;
  IndexAccess index_;
  Inventories inventories_;
  Installer installer_;
  std::unordered_map<std::string, std::shared_ptr<Flight>> flights_;  // by wish_key()
  Turns turns_;
  session::Changes landed_;  // turns may have changed
};

}  // namespace vitrine::provision
