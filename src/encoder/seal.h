// SPDX-License-Identifier: Apache-2.0
// What the encoder gives up before it reads the first pixel.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace vitrine::encoder {

// Closes every descriptor except the standard ones and 3. Call it first.
Status close_others();

// Gives up, for good: new privileges; memory, file size and descriptors beyond their limits; normal
// priority; and, by a system call filter, all calls except reading, writing, waiting and memory. It can
// open, start and connect to nothing, and map no executable memory. Any step that fails is an error.
Status seal_encoder(std::uint64_t max_file_bytes);

}  // namespace vitrine::encoder
