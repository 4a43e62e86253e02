// SPDX-License-Identifier: Apache-2.0
// What a worker is told of its session and of an execution, as messages. Pure.
#pragma once

#include "session/spec.h"
#include "wire/messages.h"

namespace vitrine::session {

// None if there is nothing to tell.
std::optional<wire::Setup> setup_of(const SessionSpec& spec);
wire::Execute execute_of(const ExecRequest& request, const Limits& limits);

}  // namespace vitrine::session
