// SPDX-License-Identifier: Apache-2.0
#include "model/session.h"

namespace vitrine {

std::string_view to_string(Variant variant) {
  switch (variant) {
    case Variant::bare: return "bare";
    case Variant::loaded: return "loaded";
    case Variant::seeded: return "seeded";
  }
  return "unknown";
}

std::string_view to_string(Policy policy) {
  switch (policy) {
    case Policy::native: return "native";
    case Policy::restricted: return "restricted";
    case Policy::smolagents: return "smolagents";
  }
  return "unknown";
}

std::optional<Policy> policy_from(std::string_view name) {
  if (name == "restrictedpython") return Policy::restricted;
  for (std::uint8_t i = 0; i < kPolicies; ++i)
    if (to_string(static_cast<Policy>(i)) == name) return static_cast<Policy>(i);
  return std::nullopt;
}

std::string_view to_string(Cause cause) {
  switch (cause) {
    case Cause::exited: return "exited";
    case Cause::signalled: return "signalled";
    case Cause::oom: return "oom";
    case Cause::timeout: return "timeout";
    case Cause::killed: return "killed";
  }
  return "unknown";
}

}  // namespace vitrine
