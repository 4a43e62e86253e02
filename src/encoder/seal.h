// SPDX-License-Identifier: Apache-2.0
// What the encoder gives up before it looks at the first pixel.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace vitrine::encoder {

// Every descriptor but the standard ones and 3 is closed. Call first.
Status close_others();

// For good: no new privileges; limits of memory, file size and descriptors; a low priority; and a
// system call filter that leaves reading, writing, waiting and memory, and nothing that opens,
// starts, connects or makes memory executable. Any step that fails is an error.
Status seal(std::uint64_t max_file_bytes);

}  // namespace vitrine::encoder
