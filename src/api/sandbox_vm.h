// SPDX-License-Identifier: Apache-2.0
// The REST of a sandbox that has one screen: /screenshot and /record?mode=start|stop, on the default
// session. docs/display.md shows it by example.
#pragma once

#include "api/pictures.h"
#include "api/router.h"
#include "session/recordings.h"
#include "session/registry.h"

namespace vitrine::api {

// Adds the routes. Everything must outlive the router.
void add_sandbox_vm_routes(Router& router, asio::any_io_executor executor,
                           session::Registry& registry, session::Recordings& recordings,
                           Pictures& pictures);

}  // namespace vitrine::api
