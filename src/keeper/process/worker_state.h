// SPDX-License-Identifier: Apache-2.0
// What the kernel tells about a worker from outside: whether it waits for its client.
//
// Trust: the text is the kernel's. What cannot be read never counts as idle.
#pragma once

#include <string_view>

namespace vitrine::keeper {

// `syscall` is /proc/PID/syscall of the worker's main thread: it waits in ppoll() for one descriptor and
// without a timeout, which only the loop that reads the client's messages does.
bool waits_for_message(std::string_view syscall);
bool worker_waits_for_message(int pid);

}  // namespace vitrine::keeper
