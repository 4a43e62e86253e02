// SPDX-License-Identifier: Apache-2.0
// What a worker accepts, for those who check requests before they are sent to one.
#pragma once

#include "wire/messages.h"

namespace vitrine::session {

using wire::is_allowed_variable;
using wire::is_module_name;
using wire::is_utf8;
inline constexpr std::size_t kMaxEnvironment = wire::kMaxEnvironment;  // variables of a session

}  // namespace vitrine::session
