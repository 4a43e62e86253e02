// SPDX-License-Identifier: Apache-2.0
// Paths: the programs installed beside this one, the image, the data directory.
#pragma once

#include <string>

#include "base/result.h"

namespace vitrine::app {

std::string program_path();               // of this program, links resolved
std::string companion(const char* name);  // a program beside it
std::string default_image();              // where ./dev image puts it: build/image
std::string source_tree();                // the checkout this was built from; empty if not found
std::string default_data();               // root: /var/lib/vitrine, else below XDG_STATE_HOME
std::string state_home();                 // $XDG_STATE_HOME or ~/.local/state

bool exists(const std::string& path);

// `not_found` with the remedy if no image lies there.
Status check_image(const std::string& directory);

// As root the part that speaks HTTP has a user id of its own: every directory above `data` must let
// it pass. `invalid_argument` names the first that does not.
Status check_reachable(const std::string& data);

// Removes a directory and all below it; links are not followed.
void remove_tree(const std::string& directory);

}  // namespace vitrine::app
