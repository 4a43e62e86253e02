// SPDX-License-Identifier: Apache-2.0
// The parts of a tar stream (POSIX ustar; names and sizes that do not fit get a pax header).
#pragma once

#include <cstdint>
#include <string>

namespace vitrine::api {

// `type`: '0' file, '5' directory.
std::string tar_header(const std::string& name, std::uint64_t size, std::uint64_t modified_ms,
                       char type);
std::string tar_padding(std::uint64_t size);
std::string tar_end();

}  // namespace vitrine::api
