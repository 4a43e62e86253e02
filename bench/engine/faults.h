// SPDX-License-Identifier: Apache-2.0
// How many page faults a process takes from its fork to its first result: where the time goes.
#pragma once

#include "engine/latency.h"

namespace vitrine::bench {

// Each counts the few of asking, too.
Result<double> faults_of_raw_fork(RawFork& server);
Result<double> faults_of_session(KeeperProcess& keeper, const wire::Create& request);

}  // namespace vitrine::bench
