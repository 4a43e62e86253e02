// SPDX-License-Identifier: Apache-2.0
// `vitrine image`: makes the runtime image from the source tree, and tells what is in one.
#include <fcntl.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "app/commands.h"
#include "app/paths.h"
#include "base/fd.h"
#include "model/environment.h"

namespace vitrine::app {

namespace json = boost::json;

namespace {

// `image/bake` does it.
int bake(const std::string& source, const BakeOptions& options) {
  std::vector<std::string> words{source + "/image/bake", "--image",
                                 options.image.empty() ? default_image() : options.image};
  for (const std::string& one : options.with) words.push_back("--with=" + one);
  if (!options.name.empty()) words.insert(words.end(), {"--name", options.name});
  if (!options.preload.empty()) words.insert(words.end(), {"--preload", options.preload});
  if (!options.find_links.empty()) words.insert(words.end(), {"--find-links", options.find_links});
  if (options.no_index) words.emplace_back("--no-index");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return refuse(Error::from_errno("starting image/bake").with_remedy("check that it is executable"),
                kOurFailure);
}

// By name; those that are not whole are not there.
json::object environments_of(const std::string& image) {
  json::object found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(image + ".environments", failed)) {
    const std::string name = entry.path().filename();
    const std::string about = entry.path().string() + "/environment.json";
    Result<std::string> text = is_environment_name(name)
                                   ? read_file(AT_FDCWD, about.c_str(), 1u << 20)
                                   : Error{Code::not_found, "it is not an environment"};
    boost::system::error_code wrong;
    json::value parsed = text ? json::parse(*text, wrong) : json::value();
    if (!wrong && parsed.is_object()) found[name] = std::move(parsed);
  }
  return found;
}

void print_environments(const json::object& environments, const json::value* recipe) {
  for (const auto& [name, value] : environments) {
    const json::object& one = value.as_object();
    const json::value* made_for = one.if_contains("image");
    const bool fits = made_for != nullptr && recipe != nullptr && *made_for == *recipe;
    std::printf("%-14s %s%s\n", "environment", std::string(name).c_str(),
                fits ? "" : " (built for another image: build it again)");
    if (const json::value* modules = one.if_contains("preload");
        modules && modules->is_string() && !modules->as_string().empty())
      std::printf("  %-28s %s\n", "(preloaded)", modules->as_string().c_str());
    if (const json::value* list = one.if_contains("packages"); list && list->is_object())
      for (const auto& [package, version] : list->as_object())
        if (version.is_string())
          std::printf("  %-28s %s\n", std::string(package).c_str(), version.as_string().c_str());
  }
}

}  // namespace

int image_build(bool force, const BakeOptions& options) {
  const std::string source = source_tree();
  if (source.empty())
    return refuse(Error{.code = Code::not_found,
                        .message = "the recipe (image/build) is not beside this program",
                        .remedy = "run ./dev image in the source tree, and name the result with "
                                  "--image DIR"},
                  kUsage);
  if (!options.with.empty()) return bake(source, options);
  const std::string build = source + "/image/build";
  ::execl(build.c_str(), build.c_str(), force ? "--force" : nullptr, nullptr);
  return refuse(Error::from_errno("starting image/build").with_remedy("run ./dev image"),
                kOurFailure);
}

int image_info(const std::string& image, bool as_json) {
  const std::string directory = image.empty() ? default_image() : image;
  if (Status s = check_image(directory); !s) return refuse(s.error(), kUsage);
  Result<std::string> text = read_file(AT_FDCWD, (directory + "/manifest.json").c_str(), 4u << 20);
  boost::system::error_code failed;
  const json::value manifest = text ? json::parse(*text, failed) : json::value();
  if (failed || !manifest.is_object())
    return refuse(Error{.code = Code::invalid_argument,
                        .message = "the manifest in '" + directory + "' cannot be read",
                        .remedy = "make the image again with ./dev image --force"},
                  kUsage);
  json::object environments = environments_of(directory);
  if (as_json) {
    json::object all = manifest.as_object();
    all["environments"] = std::move(environments);
    return std::printf("%s\n", json::serialize(all).c_str()) < 0 ? 1 : 0;
  }
  std::printf("%-14s %s\n", "directory", directory.c_str());
  for (const auto& [key, value] : manifest.as_object()) {
    const std::string name(key);
    if (value.is_string()) std::printf("%-14s %s\n", name.c_str(), value.as_string().c_str());
    if (value.is_int64())
      std::printf("%-14s %lld\n", name.c_str(), static_cast<long long>(value.as_int64()));
    if (!value.is_object()) continue;
    std::printf("%-14s %zu\n", name.c_str(), value.as_object().size());
    for (const auto& [package, version] : value.as_object())
      if (version.is_string())
        std::printf("  %-28s %s\n", std::string(package).c_str(), version.as_string().c_str());
  }
  print_environments(environments, manifest.as_object().if_contains("recipe"));
  return 0;
}

}  // namespace vitrine::app
