// SPDX-License-Identifier: Apache-2.0
// The errors that the door itself gives: each with the reason that a protocol's table maps.
#pragma once

#include <string>

#include "base/result.h"
#include "session/session.h"

namespace vitrine::service {

// Missing, foreign and deleted are the same.
Error not_found();
// The client left while it was waited for: nobody is to be answered.
Error client_left();
bool is_client_left(const Error& error);
Error session_dead(const std::string& why);
// With what is known of its death.
Error session_dead(const session::Session& session);
// Why a session could not be made, if nothing more exact is known.
Error creation_failed(Error error);

}  // namespace vitrine::service
