// SPDX-License-Identifier: Apache-2.0
// The processes that a builder makes, each a child of the keeper in namespaces of its own: shells,
// displays, zygotes. Each waits for GO on its channel, builds its jail, and ends if any step of it fails.
//
// Threading: the builder's one thread, in its staging directory. `proc` is its own /proc.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "keeper/process/builder_config.h"
#include "keeper/process/builder_messages.h"

namespace vitrine::keeper {

Result<pid_t> clone_shell(const BuildShell& request, const std::vector<Fd>& fds,
                          const BuilderConfig& config, int proc);
Result<pid_t> clone_display(const StartDisplay& request, const std::vector<Fd>& fds,
                            const BuilderConfig& config, int proc);
Result<pid_t> clone_zygote(const StartZygote& request, const std::vector<Fd>& fds);

// In the network namespace of the shell whose init is given. This process holds none of them longer
// than it must: a namespace lives as long as somebody is in it.
Result<Fd> listen_inside(int init, std::uint16_t port, int proc);

}  // namespace vitrine::keeper
