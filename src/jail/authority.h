// SPDX-License-Identifier: Apache-2.0
// What an X client needs to connect: a socket where it looks for one, and a cookie.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "jail/sys.h"

namespace vitrine::jail {

using Cookie = std::array<std::uint8_t, 16>;

// The host name inside a session.
inline constexpr std::string_view kHostName = "sandbox";

// The file that XAUTHORITY names and that a server's -auth takes: one cookie, for any display, and
// once more for this host's: libXau takes the first, python-xlib looks for the second alone.
std::string authority_bytes(const Cookie& cookie);
// Writes it, readable by everybody and writable by nobody.
Status write_authority(Sys& sys, const std::string& path, const Cookie& cookie);

// A socket in `directory`, named as X clients expect, that queues connections.
Result<Fd> listen_as_display(Sys& sys, const std::string& directory);

}  // namespace vitrine::jail
