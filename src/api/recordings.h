// SPDX-License-Identifier: Apache-2.0
// Recordings of a session's screen over HTTP, also after the session has ended. docs/display.md shows
// it by example.
#pragma once

#include <memory>
#include <variant>

#include "api/fields.h"
#include "api/problem.h"
#include "api/router.h"
#include "session/recordings.h"
#include "session/registry.h"

namespace vitrine::api {

// A recording as answers show it.
json::object recording_object(const session::Recording& one, const session::Recordings& recordings);

// What a client wants of one; mistakes are left in `fields`.
display::RecordingOptions read_wish(Fields& fields, const session::Recordings& recordings);

// Begins one, with every reason against it as a problem.
using Started = std::variant<std::shared_ptr<session::Recording>, Problem>;
Task<Started> start_recording(session::Registry& registry, session::Recordings& recordings,
                              std::shared_ptr<session::Session> session,
                              display::RecordingOptions wish, Identity asks);

// Adds the routes. Everything must outlive the router.
void add_recording_routes(Router& router, session::Registry& registry,
                          session::Recordings& recordings);

}  // namespace vitrine::api
