// SPDX-License-Identifier: Apache-2.0
// From requirements to a package layer: uv resolves and unpacks what the session lacks, in an installation
// whose only way out is the index, and the tree is copied out as data. Whatever fails leaves no part of a
// layer.
//
// Ownership: one per front. Threading: the front's one thread. It must outlive its callers.
#pragma once

#include <cstdint>
#include <memory>

#include "packages/layers.h"
#include "provision/install_session.h"
#include "provision/inventories.h"
#include "provision/package_request.h"

namespace vitrine::provision {

class Installer {
 public:
  Installer(session::Registry& registry, backend::KeeperLink& keeper,
            const packages::Config& config, packages::Layers& layers,
            const Inventories& inventories)
      : registry_(registry),
        keeper_(keeper),
        config_(config),
        layers_(layers),
        inventories_(inventories) {}

  // The installation may be open afterwards: whoever made it closes it.
  Task<Result<Provided>> install(std::shared_ptr<InstallSession> installation);
  // Layers made so far.
  std::uint64_t installations() const { return installations_; }

 private:
  Task<Status> fill_layer(std::shared_ptr<InstallSession> installation, packages::Layer layer);

  session::Registry& registry_;
  backend::KeeperLink& keeper_;
  const packages::Config& config_;
  packages::Layers& layers_;
  const Inventories& inventories_;
  std::uint64_t installations_ = 0;
};

}  // namespace vitrine::provision
