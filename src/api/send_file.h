// SPDX-License-Identifier: Apache-2.0
// A file as an answer: whole, or the range that was asked for.
#pragma once

#include <cstdint>
#include <string>

#include "api/exchange.h"

namespace vitrine::api {

// Bytes [at, at+size) of a file that may shrink or grow meanwhile: what is missing is sent as zeros,
// since the length is promised already. False once the client is gone.
Task<bool> send_bytes(Exchange& exchange, int file, std::uint64_t at, std::uint64_t size);

// Answers with the file, which has `size` bytes now. A download: browsers do not show it as a page.
Task<void> send_file(Exchange& exchange, int file, std::uint64_t size, const std::string& name,
                     std::string_view type);

}  // namespace vitrine::api
