// SPDX-License-Identifier: Apache-2.0
// The REST of a sandbox that has one screen: /screenshot and /record?mode=start|stop, on the default
// session. docs/display.md shows it by example.
#pragma once

#include "api/router.h"
#include "service/operations.h"
#include "service/screens.h"
#include "service/screenshots.h"

namespace vitrine::api {

// Adds the routes. Everything must outlive the router.
void add_sandbox_vm_routes(Router& router, asio::any_io_executor executor,
                           service::Operations& operations, service::Screens& screens,
                           service::Screenshots& screenshots);

}  // namespace vitrine::api
