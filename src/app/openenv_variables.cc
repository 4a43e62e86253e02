// SPDX-License-Identifier: Apache-2.0
#include "app/openenv_variables.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

namespace vitrine::app {

namespace {

Error refused(const std::string& variable, const std::string& value, const std::string& why,
              const std::string& remedy) {
  return Error{.code = Code::invalid_argument,
               .message = variable + " '" + value + "' " + why,
               .remedy = remedy};
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '*' ||
           c == '-';
  });
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Result<OpenEnvVariables> read_openenv_variables() {
  return read_openenv_variables(variable("EXECUTOR_BACKEND"), variable("ADDITIONAL_IMPORTS"));
}

Result<OpenEnvVariables> read_openenv_variables(const std::string& backend,
                                                const std::string& imports) {
  OpenEnvVariables read;
  if (!backend.empty()) {
    std::string lower = backend;
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    read.policy = policy_from(lower);
    if (!read.policy)
      return refused("EXECUTOR_BACKEND", backend, "is no language policy",
                     "set it to native, restrictedpython or smolagents, or unset it");
  }
  for (std::size_t at = 0; at < imports.size();) {
    const std::size_t end = std::min(imports.find(',', at), imports.size());
    std::string name = imports.substr(at, end - at);
    std::erase_if(name, [](unsigned char c) { return std::isspace(c) != 0; });
    at = end + 1;
    if (name.empty()) continue;
    if (!is_name(name))
      return refused("ADDITIONAL_IMPORTS", imports, "is no list of names",
                     "write it like numpy,pandas");
    read.imports.push_back(std::move(name));
  }
  if (!read.imports.empty())
    read.notes.emplace_back(
        "ADDITIONAL_IMPORTS: everything in the image can be imported without being named; nothing "
        "is installed");
  return read;
}

}  // namespace vitrine::app
