// SPDX-License-Identifier: Apache-2.0
#include "keeper/image.h"

#include <fcntl.h>
#include <sys/file.h>

namespace vitrine::keeper {

namespace {

constexpr const char* kMake = "make it with ./dev image, or name another with --image";

Error damaged(const std::string& why) {
  return Error{.code = Code::invalid_argument,
               .message = "the runtime image is damaged: " + why,
               .remedy = "make it again with ./dev image --force"};
}

}  // namespace

std::string manifest_value(const std::string& json, const std::string& key) {
  const std::string quoted = "\"" + key + "\"";
  std::size_t at = json.find(quoted);
  for (; at != std::string::npos; at = json.find(quoted, at)) {
    at = json.find_first_not_of(" \t\r\n", at + quoted.size());
    if (at != std::string::npos && json[at] == ':') break;  // else it is a value, not a key
  }
  if (at == std::string::npos) return "";
  at = json.find_first_not_of(" \t\r\n", at + 1);
  if (at == std::string::npos) return "";
  if (json[at] == '"') {
    const std::size_t end = json.find('"', at + 1);
    return end == std::string::npos ? "" : json.substr(at + 1, end - at - 1);
  }
  return json.substr(at, json.find_first_not_of("0123456789", at) - at);
}

Result<Image> open_image(const std::string& directory) {
  Fd outer(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!outer)
    return Error{.code = Code::not_found,
                 .message = "there is no runtime image",
                 .detail = directory,
                 .remedy = kMake};
  Image image{.root = directory + "/root", .python = {}, .recipe = {}, .lock = {}};
  Fd root(::openat(outer.get(), "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return damaged("it has no root directory");
  Result<std::string> manifest = read_file(outer.get(), "manifest.json", 4 << 20);
  if (!manifest) return damaged("it has no readable manifest");
  const std::string format = manifest_value(*manifest, "format");
  image.python = manifest_value(*manifest, "python");
  image.recipe = manifest_value(*manifest, "recipe");
  if (format.empty() || image.python.empty()) return damaged("its manifest is not readable");
  if (format != std::to_string(kImageFormat))
    return Error{.code = Code::invalid_argument,
                 .message = "the runtime image has format " + format + ", this program needs " +
                            std::to_string(kImageFormat),
                 .remedy = "make it again with ./dev image"};
  for (const char* needed : {"usr/bin/python3", "home/sandbox", "dev/null", "dev/shm", "dev/pts",
                             "proc", "tmp", "usr/lib/vitrine"}) {
    Fd found(::openat(root.get(), needed, O_PATH | O_CLOEXEC));
    if (!found) return damaged(std::string("/") + needed + " is missing");
  }
  image.lock = Fd(::openat(outer.get(), "manifest.json", O_RDONLY | O_CLOEXEC));
  if (!image.lock || ::flock(image.lock.get(), LOCK_SH | LOCK_NB) != 0)
    return Error{.code = Code::unavailable,
                 .message = "the runtime image is being replaced",
                 .remedy = "try again when ./dev image is done"};
  return image;
}

}  // namespace vitrine::keeper
