// SPDX-License-Identifier: Apache-2.0
#include "app/paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace vitrine::app {

namespace fs = std::filesystem;

std::string program_path() {
  std::error_code failed;
  const fs::path path = fs::read_symlink("/proc/self/exe", failed);
  return failed ? "vitrine" : path.string();
}

std::string companion(const char* name) {
  return (fs::path(program_path()).parent_path() / name).string();
}

std::string default_image() {
  return (fs::path(program_path()).parent_path() / "../../image").lexically_normal().string();
}

std::string source_tree() {
  fs::path at = fs::path(program_path()).parent_path();
  for (int up = 0; up < 4 && at.has_parent_path(); ++up, at = at.parent_path())
    if (exists((at / "image/build").string()) && exists((at / "dev").string())) return at.string();
  return "";
}

std::string state_home() {
  if (const char* given = std::getenv("XDG_STATE_HOME"); given != nullptr && given[0] == '/')
    return given;
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr && home[0] == '/' ? home : "/tmp") + "/.local/state";
}

std::string default_data() {
  return ::geteuid() == 0 ? "/var/lib/vitrine" : state_home() + "/vitrine";
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Status check_image(const std::string& directory) {
  if (exists(directory + "/manifest.json")) return ok();
  return Error{.code = Code::not_found,
               .message = "there is no runtime image in '" + directory + "'",
               .remedy = "make it with ./dev image, or name another with --image"};
}

Status check_reachable(const std::string& data) {
  if (::geteuid() != 0) return ok();
  for (fs::path at = fs::path(data).parent_path();; at = at.parent_path()) {
    struct stat info {};
    if (::stat(at.c_str(), &info) == 0 && (info.st_mode & S_IXOTH) == 0)
      return Error{.code = Code::invalid_argument,
                   .message = "data '" + data + "' lies below " + at.string() +
                              ", which only its owner may enter; the server's front, which has a "
                              "user id of its own, could not reach it",
                   .remedy =
                       "name another with --data, such as /var/lib/vitrine, or run "
                       "`chmod o+x " +
                       at.string() + "`"};
    if (at == at.root_path() || at.empty()) return ok();
  }
}

void remove_tree(const std::string& directory) {
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}

}  // namespace vitrine::app
