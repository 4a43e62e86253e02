// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/layers.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/fd.h"
#include "model/environment.h"
#include "model/layer.h"

namespace vitrine::keeper {

namespace {

int fsopen(const char* type) {
  return static_cast<int>(::syscall(SYS_fsopen, type, FSOPEN_CLOEXEC));
}
int fsconfig(int fs, unsigned command, const char* key, const char* value) {
  return static_cast<int>(::syscall(SYS_fsconfig, fs, command, key, value, 0));
}
int fsmount(int fs, unsigned attributes) {
  return static_cast<int>(::syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes));
}
int move_mount(int mount, const char* target) {
  return static_cast<int>(
      ::syscall(SYS_move_mount, mount, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH));
}

// A mount that is nowhere yet. The names are relative to the staging directory: that is all a session
// sees of them.
Result<Fd> make_overlay(const std::vector<std::string>& directories) {
  Fd fs(fsopen("overlay"));
  if (!fs) return Error::from_errno("opening an overlay");
  std::string lower;
  for (const std::string& directory : directories) {
    if (!Fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)))
      return Error{Code::not_found, "there is no such package layer"};
    lower += (lower.empty() ? "" : ":") + directory;
  }
  if (directories.size() < 2) lower += ":empty";  // an overlay has two at least
  if (fsconfig(fs.get(), FSCONFIG_SET_STRING, "source", "packages") != 0 ||
      fsconfig(fs.get(), FSCONFIG_SET_STRING, "lowerdir", lower.c_str()) != 0 ||
      fsconfig(fs.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr) != 0)
    return Error::from_errno("making an overlay");
  Fd mount(fsmount(fs.get(), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  if (!mount) return Error::from_errno("mounting an overlay");
  return mount;
}

std::string packages_of(const std::string& environment) {
  return "environments/" + environment + "/packages";
}

// In a process of its own, which ends: whoever enters a session's namespace does not come back.
[[noreturn]] void attach_inside(int mount, int init) {
  if (::setns(init, CLONE_NEWNS) != 0 || move_mount(mount, kLayerPoint) != 0) ::_exit(errno);
  ::_exit(0);
}

}  // namespace

Status mount_environment(const std::string& environment, const std::string& root) {
  Result<Fd> mount = make_overlay({packages_of(environment)});
  if (!mount) return std::move(mount.error());
  if (move_mount(mount->get(), (root + kLayerPoint).c_str()) != 0)
    return Error::from_errno("attaching an environment");
  return ok();
}

Status mount_layer(const std::string& layer, const std::string& environment, int init) {
  const bool named = (layer.empty() || is_layer_name(layer)) &&
                     (environment.empty() || is_environment_name(environment));
  if (!named || (layer.empty() && environment.empty()))
    return Error{Code::invalid_argument, "it is no name of a layer"};
  std::vector<std::string> directories;
  if (!layer.empty()) directories.push_back(layer == kWheels ? layer : "layers/" + layer);
  if (!environment.empty()) directories.push_back(packages_of(environment));
  Result<Fd> mount = make_overlay(directories);
  if (!mount) return std::move(mount.error());
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno("forking");
  if (pid == 0) attach_inside(mount->get(), init);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return Error::from_errno("waiting for a mount");
  if (!WIFEXITED(status)) return Error{Code::internal, "attaching a layer was broken off"};
  if (WEXITSTATUS(status) != 0) return Error::from_errno("attaching a layer", WEXITSTATUS(status));
  return ok();
}

}  // namespace vitrine::keeper
