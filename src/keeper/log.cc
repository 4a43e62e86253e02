// SPDX-License-Identifier: Apache-2.0
#include "keeper/log.h"

#include "base/log.h"

namespace vitrine::keeper {

void log_info(std::string_view text) { log(Level::info, "keeper", text); }
void log_warning(std::string_view text) { log(Level::warning, "keeper", text); }
void log_error(std::string_view text) { log(Level::error, "keeper", text); }

}  // namespace vitrine::keeper
