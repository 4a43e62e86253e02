// SPDX-License-Identifier: Apache-2.0
// The variables that OpenEnv's own coding image is configured with (docker run -e NAME=VALUE).
//
//   EXECUTOR_BACKEND    the default policy of sessions
//   ADDITIONAL_IMPORTS  names, separated by commas, that code may import
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/session.h"

namespace vitrine::app {

struct OpenEnvVariables {
  std::optional<Policy> policy;  // EXECUTOR_BACKEND
  std::vector<std::string> imports;
  std::vector<std::string> notes;  // for the one who starts the server
};

// `invalid_argument` for a backend that does not exist, and for a name that is none.
Result<OpenEnvVariables> read_openenv_variables();
Result<OpenEnvVariables> read_openenv_variables(const std::string& backend,
                                                const std::string& imports);

}  // namespace vitrine::app
