// SPDX-License-Identifier: Apache-2.0
// One line on stderr per event: time, level, program, text. Control bytes are escaped, so that no text
// makes two lines or moves a terminal's cursor; what is longer than 2000 bytes is cut.
//
// Threading: any; a line is one write(2). Failure: what cannot be written is lost.
#pragma once

#include <string_view>

namespace vitrine {

enum class Level { info, warning, error };

void log(Level level, std::string_view program, std::string_view text);

}  // namespace vitrine
