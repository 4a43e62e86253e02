// SPDX-License-Identifier: Apache-2.0
// Packages as a protocol asks for them: with a session that is to be made, for one that lives, or in
// advance. Progress goes to the client, and a client that leaves gives up what nobody else waits for.
//
// Ownership: one per front. Threading: the front's one thread. It outlives its callers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "provision/live_packages.h"
#include "service/client.h"
#include "service/session_ref.h"
#include "session/registry.h"

namespace vitrine::service {

// A session that is to be made.
struct SessionRequest {
  session::SessionSpec spec;
  provision::PackageRequest packages = {};  // names as the client gave them
  bool additional_imports = false;          // it also gets what ADDITIONAL_IMPORTS names
  // How long the client can wait for an installation of which it sees nothing. It goes on afterwards:
  // another request finds it. None = as long as the client is there.
  std::optional<std::chrono::milliseconds> patience = {};
};

// What was added to a session, or installed in advance.
struct InstalledPackages {
  std::string layer;  // the newest; "" = the image has all of it
  std::vector<std::string> pins;
  std::vector<std::string> notes;
};

struct LayerView {
  packages::Layer layer;
  bool in_use = false;
};

class Packages {
 public:
  Packages(session::Registry& registry, provision::Provisioner& provisioner,
           provision::LivePackages& live)
      : registry_(registry), provisioner_(provisioner), live_(live) {}

  bool wants(const SessionRequest& request) const;
  // Puts what the request asks for into its spec and `prepared`.
  Task<Status> prepare(SessionRequest& request, session::Prepared& prepared, Client& client);

  Task<Result<InstalledPackages>> install(provision::PackageRequest wish, Client& client);
  // Beside what the session has. `conflict` if its image would have to give way.
  Task<Result<InstalledPackages>> add(SessionRef session, provision::PackageRequest wish,
                                      Client& client);

  // The error of a session that could not get its layers; one whose files are gone is forgotten, so
  // that the next request has it installed again.
  Error explain_layers(const LayerList& layers, Error error);

  std::vector<LayerView> list();
  struct Pruned {
    std::size_t layers = 0;
    std::uint64_t bytes = 0;
  };
  // Removes what no session uses until `keep` bytes are left.
  Pruned prune(std::uint64_t keep);
  std::uint64_t bytes() { return provisioner_.layers().bytes(); }
  std::uint64_t budget_bytes() const { return provisioner_.config().budget_bytes; }
  std::uint64_t installations() const { return provisioner_.installations(); }

 private:
  using Provide =
      std::function<Task<Result<provision::Provided>>(provision::Provisioner::Progress progress)>;
  // With progress for the client; `client_left` once it is gone.
  Task<Result<provision::Provided>> while_there(Client& client, Provide provide);
  InstalledPackages view_of(const provision::Provided& provided);

  session::Registry& registry_;
  provision::Provisioner& provisioner_;
  provision::LivePackages& live_;
};

}  // namespace vitrine::service
