// SPDX-License-Identifier: Apache-2.0
#include "keeper/environments.h"

#include <fcntl.h>

#include <filesystem>

#include "base/fd.h"
#include "keeper/image.h"
#include "keeper/log.h"
#include "model/environment.h"

namespace vitrine::keeper {

namespace fs = std::filesystem;

namespace {

// It becomes a part of the interpreter's command.
bool is_module(std::string_view name) {
  bool begins = true;
  for (char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (begins ? !letter : !letter && c != '.' && !(c >= '0' && c <= '9')) return false;
    begins = c == '.';
  }
  return !begins;
}

}  // namespace

std::map<std::string, Environment> find_environments(const std::string& directory,
                                                     const std::string& image_recipe) {
  std::map<std::string, Environment> found;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failed)) {
    const std::string name = entry.path().filename();
    if (!is_environment_name(name)) continue;
    const std::string about = entry.path().string() + "/environment.json";
    Result<std::string> text = read_file(AT_FDCWD, about.c_str(), 1u << 20);
    if (!text || !fs::is_directory(entry.path() / "packages", failed)) {
      log_warning("the environment " + name +
                  " is incomplete; build it again: vitrine image build");
      continue;
    }
    if (manifest_value(*text, "image") != image_recipe) {
      log_warning("the environment " + name +
                  " was made for another image; make it again: vitrine image build");
      continue;
    }
    Environment environment;
    bool good = true;
    std::string module;
    for (char c : manifest_value(*text, "preload") + ",") {
      if (c != ',') module += c;
      else if (!module.empty()) {
        good = good && is_module(module);
        environment.preload.push_back(std::exchange(module, ""));
      }
    }
    if (good) found.emplace(name, std::move(environment));
    else log_warning("the environment " + name + " preloads something that is no module");
  }
  return found;
}

}  // namespace vitrine::keeper
