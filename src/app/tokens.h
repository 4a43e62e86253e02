// SPDX-License-Identifier: Apache-2.0
// The tokens file: who may use the server beside its owner, and how much of it.
//
//   {"tokens": [{"name": "team-a", "token": "...", "sessions": 50,
//                "executions_per_minute": 600, "memory_mb": 4096,
//                "installations": 2, "installations_per_hour": 30}]}
//
// In place of `token` may stand `sha256`, its hash in hex. Names and one of the two are required.
// Failure: `invalid_argument` naming file and field, with a remedy; never a token.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/identity.h"

namespace vitrine::app {

Result<std::vector<Token>> parse_tokens(const std::string& text);
// As a file that holds no token, only hashes.
std::string tokens_json(const std::vector<Token>& tokens);
// Also refuses a file that every user of the machine may read.
Result<std::vector<Token>> load_tokens(const std::string& file);

}  // namespace vitrine::app
