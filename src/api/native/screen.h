// SPDX-License-Identifier: Apache-2.0
// A session's screen over HTTP: its picture, its windows, input. docs/display.md shows it by example.
#pragma once

#include "api/router.h"
#include "service/operations.h"
#include "service/screens.h"
#include "service/screenshots.h"

namespace vitrine::api {

// Adds the routes. Everything must outlive the router.
void add_screen_routes(Router& router, service::Operations& operations, service::Screens& screens,
                       service::Screenshots& screenshots);

}  // namespace vitrine::api
