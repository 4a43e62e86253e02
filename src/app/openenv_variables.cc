// SPDX-License-Identifier: Apache-2.0
#include "app/openenv_variables.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace vitrine::app {

Result<std::optional<Policy>> read_executor_backend() {
  const char* value = std::getenv("EXECUTOR_BACKEND");
  return read_executor_backend(value == nullptr ? "" : value);
}

Result<std::optional<Policy>> read_executor_backend(const std::string& value) {
  if (value.empty()) return std::optional<Policy>();
  std::string lower = value;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::optional<Policy> policy = policy_from(lower);
  if (!policy)
    return Error{.code = Code::invalid_argument,
                 .message = "EXECUTOR_BACKEND '" + value + "' is no language policy",
                 .remedy = "set it to native, restrictedpython or smolagents, or unset it"};
  return policy;
}

}  // namespace vitrine::app
