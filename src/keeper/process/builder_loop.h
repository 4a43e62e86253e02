// SPDX-License-Identifier: Apache-2.0
// The builder itself: inside the outer namespaces, a child of the keeper, asked over its socket for one
// thing after the other. It ends with the keeper, or as soon as nobody listens to its answers.
#pragma once

#include "keeper/process/builder_config.h"

namespace vitrine::keeper {

// Says "ready", or an Error packed, and then answers.
[[noreturn]] void serve_builds(const BuilderConfig& config, int control);

}  // namespace vitrine::keeper
