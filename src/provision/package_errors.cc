// SPDX-License-Identifier: Apache-2.0
#include "provision/package_errors.h"

#include <array>
#include <map>
#include <utility>

namespace vitrine::provision {

namespace {

using Remedies = std::map<std::string, std::pair<Code, const char*>, std::less<>>;

const Remedies& remedies() {
  static const Remedies kRemedies{
      {"package_not_found",
       {Code::invalid_argument,
        "check the name of the package on its index; `imports` takes the name of a module"}},
      {"no_wheel",
       {Code::invalid_argument,
        "choose a version that has a wheel for this Python, or one without compiled code"}},
      {"only_sdist",
       {Code::invalid_argument,
        "set allow_sdist to true (--allow-sdist) to have it built here, or choose a version that "
        "has "
        "a wheel"}},
      {"build_failed",
       {Code::invalid_argument,
        "choose a version that has a wheel, or one that builds with what the index offers"}},
      {"needs_compiler",
       {Code::invalid_argument,
        "no compiler is in the image: choose a version or a package that has a wheel for this "
        "Python"}},
      {"conflict", {Code::invalid_argument, "relax the versions that the explanation names"}},
      {"offline",
       {Code::unavailable,
        "the index cannot be reached; try again, or ask the operator to check --index-url"}},
      {"too_big",
       {Code::invalid_argument,
        "request fewer or smaller packages; the operator may raise --layer-mb"}},
      {"hash_mismatch",
       {Code::unavailable, "the index or a proxy before it is broken; report it to its operator"}},
      {"bad_package", {Code::invalid_argument, "the package is damaged or hostile: do not use it"}},
      {"install_timeout",
       {Code::unavailable,
        "try again later: what was downloaded is lost; the operator may raise --install-timeout"}},
      {"cancelled", {Code::unavailable, "try again"}}};
  return kRemedies;
}

// Those that are not the installer's.
constexpr std::array<std::string_view, 11> kOthers{
    "install_failed", "package_forbidden",   "too_many_packages",    "invalid_requirement",
    "invalid_import", "unknown_module",      "packages_off",         "sdist_off",
    "disk_full",      "quota_installations", "installations_limited"};

}  // namespace

Error package_error(std::string reason, std::string message, std::string remedy, Code code) {
  return {.code = code,
          .message = std::move(message),
          .remedy = std::move(remedy),
          .reason = std::move(reason)};
}

Error no_room(std::string message, std::string remedy) {
  Error out =
      package_error("no_capacity", std::move(message), std::move(remedy), Code::unavailable);
  out.retry_after = std::chrono::seconds(2);
  return out;
}

Error explain(const std::string& reason, const std::string& message) {
  const auto found = remedies().find(reason);
  if (found == remedies().end())
    return package_error("install_failed", message, "try again, or request other packages",
                         Code::unavailable);
  return package_error(reason, message, found->second.second, found->second.first);
}

std::optional<Error> forbidden(const packages::Config& config, const std::string& name) {
  if (config.permits(name)) return std::nullopt;
  return package_error("package_forbidden",
                       "the operator of this server does not allow the package " + name,
                       "do not use it, or ask the operator");
}

bool is_about_packages(const Error& error) {
  if (remedies().contains(error.reason)) return true;
  for (std::string_view one : kOthers)
    if (one == error.reason) return true;
  return false;
}

}  // namespace vitrine::provision
