// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/errors.h"

#include "provision/package_errors.h"

namespace vitrine::api::openenv {

bool is_capacity(const Error& error) {
  return error.code == Code::unavailable || error.code == Code::over_limit;
}

std::string text_of(const Error& error) {
  if (!provision::is_about_packages(error)) return error.message;
  return error.reason + ": " + error.message;
}

}  // namespace vitrine::api::openenv
