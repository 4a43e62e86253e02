// SPDX-License-Identifier: Apache-2.0
// Errors as OpenEnv's clients see them: a status, a code of its WebSocket, and one text. The table of this
// protocol; what it does not name follows from the error's code.
#pragma once

#include <string>

#include "base/result.h"

namespace vitrine::api::openenv {

// There is no room now, and may be later: 503 with Retry-After; CAPACITY_REACHED on a socket.
bool is_capacity(const Error& error);

// What is wrong. Errors about packages are named by their reason: stock clients show nothing else of it.
std::string text_of(const Error& error);

}  // namespace vitrine::api::openenv
