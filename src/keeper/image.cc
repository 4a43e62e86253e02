// SPDX-License-Identifier: Apache-2.0
#include "keeper/image.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <set>

namespace vitrine::keeper {

namespace {

namespace fs = std::filesystem;

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

Result<std::string> find_runtime(const std::string& directory, const Image& image) {
  const std::string version =
      image.python.substr(0, image.python.find('.', image.python.find('.') + 1));
  std::string layer = directory + "/" + version;
  bool whole = true;
  for (const char* part : {"_vitrine.so", "vitrine_runtime/boot.py"})
    whole = whole && ::access((layer + "/usr/lib/vitrine/" + part).c_str(), F_OK) == 0;
  if (whole) return layer;
  std::error_code unreadable;
  std::set<std::string> built;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, unreadable))
    built.insert(entry.path().filename());
  if (built.empty() || built.contains(version))
    return Error{.code = Code::not_found,
                 .message = "there is no session runtime for Python " + version,
                 .detail = layer,
                 .remedy = "build it: ./dev build"};
  std::string others;
  for (const std::string& one : built) others += (others.empty() ? "" : ", ") + one;
  return Error{.code = Code::not_found,
               .message = "the runtime image has Python " + version +
                          ", this program was built for Python " + others,
               .detail = layer,
               .remedy = "image/python --release " + version +
                         " && ./dev build, or make an image of another release: ./dev image"};
}

}  // namespace vitrine::keeper
