// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace vitrine::wire {

// Whether `text` is well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view text);

}  // namespace vitrine::wire
