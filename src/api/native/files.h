// SPDX-License-Identifier: Apache-2.0
// A session's files over HTTP: bytes in, bytes out, listings, archives; also while code runs and
// after the session died.
#pragma once

#include <cstdint>

#include "api/router.h"
#include "service/files.h"
#include "service/operations.h"

namespace vitrine::api {

// `max_upload`: bytes of one file; the session's quota is the real limit.
void add_file_routes(Router& router, service::Operations& operations,
                     service::FileOperations& files, std::uint64_t max_upload = 4ull << 30);

}  // namespace vitrine::api
