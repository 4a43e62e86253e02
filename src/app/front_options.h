// SPDX-License-Identifier: Apache-2.0
// What the keeper tells a front on its command line, and the files that these options name.
//
// Failure: an error with a remedy that names the option; never a token.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/identities.h"
#include "base/result.h"
#include "model/settings.h"
#include "packages/config.h"

namespace vitrine::app {

struct FrontOptions {
  std::string data;
  std::string token_file;
  std::string tokens_file;
  std::string auth = "auto";  // auto = token beyond loopback; token; none
  std::vector<std::string> hosts;
  std::uint32_t history = settings::kHistory.otherwise;
  std::uint64_t recordings_mb =
      settings::kRecordingsMb.otherwise;  // of recordings that ended; the oldest go first
  std::string reward = "openenv";         // none, openenv, or a file of rules
  std::string policy = "native";          // of sessions that name none
  std::string network = "on";             // off = only installations of packages have one
  std::string packages;                   // file of app/package_settings.h; "" = no packages
};

// The owner's token and those of the tokens file. Creates the owner's token if there is none.
Result<api::Identities> load_identities(const FrontOptions& options);
Result<std::string> load_rules(const std::string& reward);
Result<packages::Config> load_packages(const std::string& file);

}  // namespace vitrine::app
