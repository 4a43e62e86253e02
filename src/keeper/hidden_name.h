// SPDX-License-Identifier: Apache-2.0
// The name of an upload that has no name of its own yet.
#pragma once

#include <string>

namespace vitrine::keeper {

// ".vitrine-upload-" and 64 random bits: session code cannot guess it.
std::string hidden_name();

}  // namespace vitrine::keeper
