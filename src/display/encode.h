// SPDX-License-Identifier: Apache-2.0
// Encodes frames as image files. Pure; takes milliseconds, so it does not run on the front's thread.
#pragma once

#include <string>

#include "base/result.h"
#include "display/frame.h"

namespace vitrine::display {

enum class Format { png, jpeg, webp };

const char* mime_type(Format format);

// PNG: 8-bit RGB, no palette, no alpha. JPEG: quality 85. WebP: lossy, quality 80.
Result<std::string> encode(const Frame& frame, Format format);

}  // namespace vitrine::display
