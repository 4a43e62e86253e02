// SPDX-License-Identifier: Apache-2.0
// A session's files over HTTP: bytes in, bytes out, listings, archives; also while code runs and
// after the session died.
#pragma once

#include <cstdint>

#include "api/router.h"
#include "session/registry.h"

namespace vitrine::api {

void add_file_routes(Router& router, session::Registry& registry, std::uint64_t max_upload);

}  // namespace vitrine::api
