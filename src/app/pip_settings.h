// SPDX-License-Identifier: Apache-2.0
// Where pip on this host would look for packages: its environment and its configuration files.
//
// Read as pip does: PIP_CONFIG_FILE, then those of the user and the host, and above them the
// environment. Only what names places is taken. `UV_` variables count where pip's are not set.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace vitrine::app {

struct PipSettings {
  std::string index_url;
  std::vector<std::string> extra_index_urls;
  std::vector<std::string> find_links;
  std::string certificates;  // path
};

using Variable = std::function<std::string(const char* name)>;       // "" = not set
using Reader = std::function<std::string(const std::string& path)>;  // "" = not readable

PipSettings read_pip_settings(const Variable& variable, const Reader& reader);
PipSettings read_pip_settings();

}  // namespace vitrine::app
