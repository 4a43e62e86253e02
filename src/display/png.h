// SPDX-License-Identifier: Apache-2.0
// A PNG writer for screens: 8-bit RGB, one filter for the whole image, chosen by trying each on a few
// rows; deflated by ISA-L in a tenth of zlib's time.
#pragma once

#include <string>

#include "base/result.h"
#include "display/frame.h"

namespace vitrine::display {

Result<std::string> encode_png(const Frame& frame);

}  // namespace vitrine::display
