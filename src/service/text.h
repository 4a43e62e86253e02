// SPDX-License-Identifier: Apache-2.0
// Bytes that a client or session code chose, as answers can show them.
#pragma once

#include <string>
#include <string_view>

namespace vitrine::service {

// Itself if it is UTF-8; else with a ? for every byte that is no ASCII.
std::string as_text(std::string_view bytes);

// A name as errors show it: its beginning, cut between characters.
std::string shown(std::string_view name);

}  // namespace vitrine::service
