// SPDX-License-Identifier: Apache-2.0
// EXECUTOR_BACKEND, by which OpenEnv's own coding image is told the default policy of its sessions.
// ADDITIONAL_IMPORTS, the other variable of that image, belongs to app/package_settings.h.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/session.h"

namespace vitrine::app {

// None = it is not set. `invalid_argument` for a backend that does not exist.
Result<std::optional<Policy>> read_executor_backend();
Result<std::optional<Policy>> read_executor_backend(const std::string& value);

}  // namespace vitrine::app
