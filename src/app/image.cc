// SPDX-License-Identifier: Apache-2.0
// `vitrine image`: makes the runtime image from the source tree, and tells what is in one.
#include <fcntl.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>

#include "app/commands.h"
#include "app/paths.h"
#include "base/fd.h"

namespace vitrine::app {

namespace json = boost::json;

int image_build(bool force) {
  const std::string source = source_tree();
  if (source.empty())
    return refuse(Error{.code = Code::not_found,
                        .message = "the recipe (image/build) is not beside this program",
                        .remedy = "run ./dev image in the source tree, and name the result with "
                                  "--image DIR"},
                  kUsage);
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
  if (as_json) return std::fputs(text->c_str(), stdout) < 0 ? 1 : 0;
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
  return 0;
}

}  // namespace vitrine::app
