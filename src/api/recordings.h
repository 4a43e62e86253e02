// SPDX-License-Identifier: Apache-2.0
// Recordings of a session's screen over HTTP, also after the session has ended. docs/display.md shows
// it by example.
#pragma once

#include "api/router.h"
#include "session/recordings.h"
#include "session/registry.h"

namespace vitrine::api {

// Adds the routes. Everything must outlive the router.
void add_recording_routes(Router& router, session::Registry& registry,
                          session::Recordings& recordings);

}  // namespace vitrine::api
