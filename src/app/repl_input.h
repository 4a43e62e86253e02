// SPDX-License-Identifier: Apache-2.0
// Whether what was typed so far is to be sent, or more lines belong to it.
//
// A guess from brackets, strings, colons and indentation; Python decides what it means. Pure.
#pragma once

#include <string_view>

namespace vitrine::app {

enum class Typed { complete, wants_more };

// `code` = all lines so far, each with its newline. A block ends with an empty line; so does
// anything else that only looks unfinished, except an open bracket or a triple-quoted string.
Typed judge(std::string_view code);

}  // namespace vitrine::app
