// SPDX-License-Identifier: Apache-2.0
#include "provision/package_trouble.h"

#include <map>
#include <utility>

namespace vitrine::provision {

PackageTrouble trouble(std::string code, std::string detail, std::string remedy, int status) {
  return {std::move(code), std::move(detail), std::move(remedy), status};
}

PackageTrouble busy(std::string detail, std::string remedy) {
  PackageTrouble out = trouble("no_capacity", std::move(detail), std::move(remedy), 503);
  out.retry_after_s = 2;
  return out;
}

PackageTrouble explain(const std::string& code, const std::string& detail) {
  static const std::map<std::string, std::pair<int, const char*>> kRemedies{
      {"package_not_found",
       {422, "check the name of the package on its index; `imports` takes the name of a module"}},
      {"no_wheel",
       {422, "choose a version that has a wheel for this Python, or one without compiled code"}},
      {"only_sdist",
       {422,
        "set allow_sdist to true (--allow-sdist) to have it built here, or choose a version that "
        "has "
        "a wheel"}},
      {"build_failed",
       {422, "choose a version that has a wheel, or one that builds with what the index offers"}},
      {"needs_compiler",
       {422,
        "no compiler is in the image: choose a version or a package that has a wheel for this "
        "Python"}},
      {"conflict", {422, "loosen the versions that the explanation names"}},
      {"offline",
       {503, "the index cannot be reached; try again, or let the operator check --index-url"}},
      {"too_big", {422, "ask for fewer or smaller packages; the operator may raise --layer-mb"}},
      {"hash_mismatch", {502, "the index or something on the way is broken; tell its operator"}},
      {"bad_package", {422, "the package is damaged or hostile: do without it"}},
      {"install_timeout",
       {504,
        "try again later: what was downloaded is lost; the operator may raise --install-timeout"}},
      {"cancelled", {503, "try again"}}};
  const auto found = kRemedies.find(code);
  if (found == kRemedies.end())
    return trouble("install_failed", detail, "try again, or ask for other packages", 502);
  return trouble(code, detail, found->second.second, found->second.first);
}

std::optional<PackageTrouble> forbidden(const packages::Config& config, const std::string& name) {
  if (config.permits(name)) return std::nullopt;
  return trouble("package_forbidden",
                 "the operator of this server does not allow the package " + name,
                 "do without it, or ask the operator", 403);
}

}  // namespace vitrine::provision
