// SPDX-License-Identifier: Apache-2.0
// The requests that are measured.
#pragma once

#include "engine/latency.h"
#include "server/client.h"

namespace vitrine::bench {

inline const Request kCreate{.method = "POST", .target = "/v1/sessions", .body = "{}"};
Request execute_in(const std::string& session, const std::string& code);
Request run_once(const std::string& code);
Request end_of(const std::string& session);

// `internal` unless the code was run and gave what it should.
Status check(const Answer& answer, const Cell& cell);

}  // namespace vitrine::bench
