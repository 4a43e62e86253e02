// SPDX-License-Identifier: Apache-2.0
// The windows on the screen, topmost first.
#pragma once

#include "screen/window_manager.h"
#include "wire/screen.h"

namespace vitrine::screen {

// At most wire::screen's limit; unmapped windows are left out before mapped ones. Examines a few
// thousand windows at most.
wire::screen::Windows list_windows(const X& x, const WindowManager& window_manager);

// Text of a title as UTF-8: cut to 256 bytes at a character, without control characters.
std::string clean_title(std::string_view bytes, bool is_utf8_string);

}  // namespace vitrine::screen
