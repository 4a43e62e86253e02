// SPDX-License-Identifier: Apache-2.0
// A session's screen over HTTP: its picture, its windows, input. docs/display.md shows it by example.
#pragma once

#include "api/pictures.h"
#include "api/router.h"
#include "session/registry.h"

namespace vitrine::api {

// Adds the routes. Everything must outlive the router.
void add_screen_routes(Router& router, session::Registry& registry, Pictures& pictures);

}  // namespace vitrine::api
