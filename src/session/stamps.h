// SPDX-License-Identifier: Apache-2.0
// What sessions, executions and recordings are marked with: an id that nobody can guess, and the time.
#pragma once

#include <string>

namespace vitrine::session {

std::string new_id();  // 128 random bits as 32 hex digits
std::string now_rfc3339();

}  // namespace vitrine::session
