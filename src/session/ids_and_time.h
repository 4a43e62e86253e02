// SPDX-License-Identifier: Apache-2.0
// What sessions, executions and recordings are marked with: an id that nobody can guess, and the time.
#pragma once

#include <cstdint>
#include <string>

namespace vitrine::session {

std::string new_id();       // 128 random bits as 32 hex digits
std::uint64_t new_token();  // 64 random bits, never 0
std::string now_rfc3339();

}  // namespace vitrine::session
