// SPDX-License-Identifier: Apache-2.0
// One datagram on a SEQPACKET socket, with descriptors beside it.
//
// Trust: receive_packet() never grows beyond `limit` and never leaks a descriptor: surplus ones are
// closed, and a truncated packet is an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace vitrine {

inline constexpr std::size_t kMaxPacketFds = 16;

struct Packet {
  std::string bytes;
  std::vector<Fd> fds;
  int pid = 0;  // the process the sender named or was, in our pid namespace; see receive_names()
};

enum class Wait { block, dont };

// `over_limit` with Wait::dont when the peer does not read; `unavailable` when it is gone.
Status send_packet(int socket, std::string_view bytes, const std::vector<int>& fds = {},
                   Wait wait = Wait::block);

// Beside the bytes, the kernel carries the name of a process and translates it between pid
// namespaces. Naming another one than oneself takes CAP_SYS_ADMIN over the own pid namespace.
Status send_naming(int socket, std::string_view bytes, int pid);
Status receive_names(int socket);

// `unavailable` at the end of the stream; `timed_out` with Wait::dont when there is none yet.
Result<Packet> receive_packet(int socket, std::size_t limit, std::size_t max_fds,
                              Wait wait = Wait::block);

}  // namespace vitrine
