// SPDX-License-Identifier: Apache-2.0
// The native API, /v1: sessions, executions, files. docs/api.md shows it by example.
#pragma once

#include <string>

#include "api/router.h"
#include "provision/live_packages.h"
#include "session/registry.h"

namespace vitrine::api {

struct NativeConfig {
  std::string version;
  std::size_t max_body = 20u << 20;                  // JSON bodies
  provision::Provisioner* packages = nullptr;        // null = there are none
  provision::LivePackages* live_packages = nullptr;  // with it
  std::uint64_t max_upload = 4ull << 30;  // one file; the session's quota is the real limit
};

// Adds the routes. Everything must outlive the router.
void add_native_routes(Router& router, session::Registry& registry, const NativeConfig& config);

}  // namespace vitrine::api
