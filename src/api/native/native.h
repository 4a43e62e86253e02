// SPDX-License-Identifier: Apache-2.0
// The native API, /v1: sessions and executions. docs/api.md shows it by example.
#pragma once

#include <string>

#include "api/router.h"
#include "service/operations.h"

namespace vitrine::api {

struct NativeConfig {
  std::string version;
  std::size_t max_body = 20u << 20;  // JSON bodies
};

// Adds the routes. Everything must outlive the router.
void add_native_routes(Router& router, service::Operations& operations, const NativeConfig& config);

}  // namespace vitrine::api
