// SPDX-License-Identifier: Apache-2.0
#include "model/isolation.h"

namespace vitrine {

std::string_view to_string(IsolationKind isolation) {
  switch (isolation) {
    case IsolationKind::process: return "process";
    case IsolationKind::wasm: return "wasm";
    case IsolationKind::vm: return "vm";
  }
  return "?";
}

std::string_view to_string(Capability capability) {
  switch (capability) {
    case Capability::packages: return "packages";
    case Capability::environments: return "environments";
    case Capability::display: return "display";
    case Capability::network: return "network";
    case Capability::recordings: return "recordings";
    case Capability::files: return "files";
    case Capability::fork: return "fork";
  }
  return "?";
}

std::optional<IsolationKind> isolation_from(std::string_view name) {
  for (std::uint8_t i = 0; i < kIsolations; ++i)
    if (name == to_string(static_cast<IsolationKind>(i))) return static_cast<IsolationKind>(i);
  return std::nullopt;
}

}  // namespace vitrine
