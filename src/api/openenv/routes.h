// SPDX-License-Identifier: Apache-2.0
// OpenEnv over HTTP and WebSocket, for both generations of its clients.
#pragma once

#include <string>

#include "api/openenv/judge.h"
#include "api/router.h"
#include "service/operations.h"

namespace vitrine::api::openenv {

struct Settings {
  Identity owner;              // of everything that these routes make
  std::uint64_t capacity = 0;  // sessions that may exist at once, for the message of a full server
};

// Adds the routes. Everything must outlive the router.
void add_routes(Router& router, asio::any_io_executor executor, service::Operations& operations,
                Judge& judge, const Settings& settings);

}  // namespace vitrine::api::openenv
