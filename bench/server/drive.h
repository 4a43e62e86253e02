// SPDX-License-Identifier: Apache-2.0
// Many connections at once from one thread: each has a script that turns the last answer into the
// next request.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "server/client.h"

namespace vitrine::bench {

using Clock = std::chrono::steady_clock;

struct Step {
  Request request;
  Clock::time_point due = {};  // not before; in the past = at once
};

// `answer` is null at the start. nullopt = this connection is done.
using Script = std::function<Result<std::optional<Step>>(std::size_t client, const Answer* answer)>;

Result<std::vector<Client>> connect_all(std::uint16_t port, std::size_t count);

// Until every script is done; answers that are not 2xx are errors. `timed_out` after a minute of
// silence.
Status drive(std::vector<Client>& clients, const Script& script);

}  // namespace vitrine::bench
