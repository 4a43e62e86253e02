// SPDX-License-Identifier: Apache-2.0
// Names of keys, and characters, as X11 keysyms. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vitrine::screen {

using Keysym = std::uint32_t;

// The keysym that types this character; "\n" is Return and "\t" Tab. 0 for other control characters.
Keysym keysym_of(char32_t character);

// The code points of well-formed UTF-8.
std::u32string characters_of(std::string_view utf8);

// One key: an X11 keysym's name ("Return", "F4", "eacute"), a common other name ("enter", "ctrl",
// "pageup"; case-insensitive), one character ("s", "é"), or "U+20AC". The text of `invalid_argument`
// lists what is accepted.
Result<Keysym> parse_key(std::string_view name);

// Keys joined by "+": "ctrl+shift+s", "alt+F4", "ctrl++". In a chord a capital letter stands for its
// key, as in "Ctrl+S"; alone it is the capital letter.
Result<std::vector<Keysym>> parse_chord(std::string_view chord);

}  // namespace vitrine::screen
