// SPDX-License-Identifier: Apache-2.0
// The environments that the operator baked (`vitrine image build --with`), as the keeper finds them
// beside the image: DIR/NAME/packages and DIR/NAME/environment.json.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace vitrine::keeper {

struct Environment {
  std::vector<std::string> preload;  // modules that its zygotes import
};

// By name; whatever is not whole, or was made for another image, is left out and logged.
std::map<std::string, Environment> find_environments(const std::string& directory,
                                                     const std::string& image_recipe);

}  // namespace vitrine::keeper
