// SPDX-License-Identifier: Apache-2.0
// SHA-256, for names made from content. FIPS 180-4.
#pragma once

#include <string>
#include <string_view>

namespace vitrine {

std::string sha256_hex(std::string_view bytes);

}  // namespace vitrine
