// SPDX-License-Identifier: Apache-2.0
// Recordings of a session's screen over HTTP, also after the session has ended. docs/display.md shows
// it by example.
#pragma once

#include "api/fields.h"
#include "api/problem.h"
#include "api/router.h"
#include "service/operations.h"
#include "service/screens.h"

namespace vitrine::api {

// A recording as answers show it.
json::object recording_object(const session::Recording& one, const session::Recordings& recordings);

// What a client wants of one; mistakes are left in `fields`.
display::RecordingOptions read_wish(Fields& fields, const session::Recordings& recordings);

// Adds the routes. Everything must outlive the router.
void add_recording_routes(Router& router, service::Operations& operations,
                          service::Screens& screens);

}  // namespace vitrine::api
