// SPDX-License-Identifier: Apache-2.0
// The windows on the screen, from the top down.
#pragma once

#include "screen/window_manager.h"
#include "wire/screen.h"

namespace vitrine::screen {

// Mapped windows first wins: of many windows, unmapped ones are left out before mapped ones. Looks at
// no more than a few thousand.
wire::screen::Windows list_windows(const X& x, const WindowManager& window_manager);

// Text of a title as UTF-8: cut to 256 bytes at a character, without control characters.
std::string clean_title(std::string_view bytes, bool is_utf8_string);

}  // namespace vitrine::screen
