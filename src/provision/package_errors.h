// SPDX-License-Identifier: Apache-2.0
// Why there are no packages: errors whose reason is a code of docs/packages.md, with a remedy for whoever
// asked. Pure values; every failure of the installer has its remedy in one table here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "packages/config.h"

namespace vitrine::provision {

Error package_error(std::string reason, std::string message, std::string remedy,
                    Code code = Code::invalid_argument);
// There is no room for the session that installs.
Error no_room(std::string message, std::string remedy);
// What a failure of the installer means for who asked; a reason that is not known is `install_failed`.
Error explain(const std::string& reason, const std::string& message);
// Of a package that the operator's lists keep out.
std::optional<Error> forbidden(const packages::Config& config, const std::string& name);

// Whether an error is about packages, and not about the session that asked for them.
bool is_about_packages(const Error& error);

}  // namespace vitrine::provision
