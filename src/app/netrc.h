// SPDX-License-Identifier: Apache-2.0
// User and password of hosts, in the form that curl, pip and uv know: `machine HOST login USER password
// WORD`. Macros are not known, nor is `default`: a password is for the host it was written down for.
// Failure: `invalid_argument` naming file and line, never a password.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace vitrine::app {

struct Machine {
  std::string host;
  std::string login;
  std::string password;
};

Result<std::vector<Machine>> parse_netrc(const std::string& text);
// Also refuses a file that other users of this machine may read.
Result<std::vector<Machine>> load_netrc(const std::string& file);
// The URL with what is known for its host, unless it has credentials already.
std::string with_credentials(const std::string& url, const std::vector<Machine>& machines);

}  // namespace vitrine::app
