// SPDX-License-Identifier: Apache-2.0
// Bytes that a client or session code chose, as JSON can carry them.
#pragma once

#include <string>
#include <string_view>

namespace vitrine::api {

// Itself if it is UTF-8; else with a ? for every byte that is no ASCII.
std::string as_text(std::string_view bytes);

// A name as errors show it: its beginning, cut between characters.
std::string shown(std::string_view name);

// Content-Disposition for the last part of a path: a plain name without quotes and control bytes,
// and the exact one beside it.
std::string disposition(std::string_view path);

}  // namespace vitrine::api
