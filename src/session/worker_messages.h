// SPDX-License-Identifier: Apache-2.0
// What a worker says about the execution that is on, put into it: results, errors, notes, its line,
// its stack. Hostile bytes: what makes no sense is an error, and the session ends the worker for it.
#pragma once

#include "base/result.h"
#include "session/execution.h"
#include "wire/frame.h"

namespace vitrine::session {

// `invalid_argument` also for a message that is none of these.
Status apply_worker_message(const wire::Message& message, Execution& execution);

// What its end means, by the worker's word and the keeper's.
Outcome outcome_of(wire::Claim claim, bool timed_out);

}  // namespace vitrine::session
