// SPDX-License-Identifier: Apache-2.0
// Why there are no packages, in words for whoever asked: a code of docs/packages.md, what is wrong, and
// what to do about it. Pure values; every failure of the installer has its remedy in one table here.
#pragma once

#include <optional>
#include <string>

#include "packages/config.h"

namespace vitrine::provision {

struct PackageTrouble {
  std::string code;
  std::string detail;
  std::string remedy;
  int status = 422;
  int retry_after_s = 0;  // 0 = waiting does not help
};

PackageTrouble trouble(std::string code, std::string detail, std::string remedy, int status = 422);
PackageTrouble busy(std::string detail, std::string remedy);
// What a failure of the installer means for who asked; a code that is not known is `install_failed`.
PackageTrouble explain(const std::string& code, const std::string& detail);
// Of a package that the operator's lists keep out.
std::optional<PackageTrouble> forbidden(const packages::Config& config, const std::string& name);

}  // namespace vitrine::provision
