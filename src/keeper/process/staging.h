// SPDX-License-Identifier: Apache-2.0
// The builder's staging directory: the trees that sessions are laid on, in a mount namespace that only
// the builder and its outer init are in. Either all of them are there, or there is no builder.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "keeper/process/builder_config.h"

namespace vitrine::keeper {

inline constexpr const char* kStaging = "/tmp";  // in the builder's own mount namespace only
// Below it: an empty directory where a mount is made before it is moved into a session.
inline constexpr const char* kPackagesStaging = "packages";

// A tree as a mount of its own, made before the namespaces are; empty without the privilege.
Fd clone_tree(const std::string& path);

// In the child, in a mount namespace of its own: mounts it and enters it. The config's trees are used up.
Status prepare_staging(const BuilderConfig& config);

}  // namespace vitrine::keeper
