// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/layers.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/fd.h"
#include "keeper/process/staging.h"
#include "model/environment.h"

namespace vitrine::keeper {

namespace {

int open_tree(const char* path) {
  return static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}
int move_mount(int mount, const char* target) {
  return static_cast<int>(
      ::syscall(SYS_move_mount, mount, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH));
}

// A mount that is attached nowhere; the topmost directory comes first. Their names are relative to the
// staging directory: that is all a session sees of them. This is mount(2) because fsconfig(2) takes 255
// bytes of `lowerdir`, which are three layers; `lowerdir+` needs Linux 6.8.
Result<Fd> make_overlay(const std::vector<std::string>& directories) {
  std::string lower;
  for (const std::string& directory : directories) {
    if (!Fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)))
      return Error{Code::not_found, "there is no such package layer"};
    lower += (lower.empty() ? "" : ":") + directory;
  }
  if (directories.size() < 2) lower += ":empty";  // an overlay has two at least
  if (::mount("packages", kPackagesStaging, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV,
              ("lowerdir=" + lower).c_str()) != 0)
    return Error::from_errno("mounting an overlay");
  Fd mount(open_tree(kPackagesStaging));
  const int failed = mount ? 0 : errno;
  (void)::umount2(kPackagesStaging, MNT_DETACH);
  if (failed != 0) return Error::from_errno("opening an overlay", failed);
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

Status mount_layers(const LayerList& layers, const std::string& environment, int init) {
  const bool named =
      are_layer_names(layers) && (environment.empty() || is_environment_name(environment));
  if (!named || (layers.empty() && environment.empty()))
    return Error{Code::invalid_argument, "it is no name of a layer"};
  std::vector<std::string> directories;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
    directories.push_back(*layer == kWheels ? *layer : "layers/" + *layer);
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
