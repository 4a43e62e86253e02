// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace vitrine {

// Up to the first character that is none of its alphabet.
std::string from_base64(std::string_view text);
std::string to_base64(std::string_view bytes);

}  // namespace vitrine
