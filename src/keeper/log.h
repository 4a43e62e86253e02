// SPDX-License-Identifier: Apache-2.0
// The keeper's log: one line on stderr per event, control bytes escaped.
#pragma once

#include <string_view>

namespace vitrine::keeper {

void log_info(std::string_view text);
void log_warning(std::string_view text);
void log_error(std::string_view text);

}  // namespace vitrine::keeper
