// SPDX-License-Identifier: Apache-2.0
// Frames as files that others can read. Pure and slow (milliseconds): not for the front's own thread.
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
