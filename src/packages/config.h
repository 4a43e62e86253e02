// SPDX-License-Identifier: Apache-2.0
// The operator's settings for packages, with their defaults. `vitrine serve` writes them into a file of
// the data directory (mode 0600: index URLs may hold credentials), and the front reads them from there.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/index_url.h"

namespace vitrine::packages {

struct Config {
  bool on = true;
  // URLs have no credentials from here on; those are in `secrets`.
  std::string index_url;  // "" = what the image's pip uses; "none" = no index, wheels only
  std::vector<std::string> extra_index_urls = {};
  std::map<std::string, std::string> index_for = {};  // by normalised name: its own index
  std::map<std::string, IndexUrl> secrets = {};  // by URL: the indexes that require credentials
  std::vector<std::string> index_hosts = {};     // further hosts that installations may reach
  bool sdist = true;                             // whether clients may set `allow_sdist`
  bool find_links = false;                       // the keeper has a directory of wheels
  std::string certificates = {};                 // PEM; "" = the image's
  std::vector<std::string> allow = {};           // normalised names; empty = every name
  std::vector<std::string> deny = {};
  std::uint64_t layer_bytes = 1ull << 30;   // of one layer, unpacked
  std::uint64_t budget_bytes = 8ull << 30;  // of all
  std::uint32_t layer_files = 100'000;
  std::vector<std::string> imports = {};  // ADDITIONAL_IMPORTS: what every OpenEnv session gets
  std::chrono::seconds time{300};         // of one installation

  bool permits(const std::string& name) const;
};

Result<Config> config_from_json(const std::string& text);
}  // namespace vitrine::packages
