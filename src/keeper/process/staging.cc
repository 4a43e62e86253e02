// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/staging.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace vitrine::keeper {

namespace {

// A layer, opened in this mount namespace: a descriptor from another one cannot be bound.
Result<Fd> open_layer(const std::string& path) {
  Fd layer(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!layer)
    return Error::from_errno("opening a layer")
        .with_remedy(
            "let everyone read the image and the runtime, and enter the directories above");
  return layer;
}

Status attach_tree(int descriptor, const char* target) {
  const Fd tree(descriptor);  // not needed any more
  if (::mkdir(target, 0755) != 0) return Error::from_errno("making a staging directory");
  if (::syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return Error::from_errno("attaching a layer");
  if (::access(target, R_OK | X_OK) != 0)
    return Error::from_errno("reading a layer")
        .with_remedy("let everyone read the image and the runtime");
  return ok();
}

Status bind_layer(const Fd& layer, const char* target) {
  if (::mkdir(target, 0755) != 0) return Error::from_errno("making a staging directory");
  const std::string source = "/proc/self/fd/" + std::to_string(layer.get());
  if (::mount(source.c_str(), target, nullptr, MS_BIND, nullptr) != 0)
    return Error::from_errno("binding a layer");
  return ok();
}

}  // namespace

Fd clone_tree(const std::string& path) {
  return Fd(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
}

Status prepare_staging(const BuilderConfig& config) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return Error::from_errno("making the mounts private");
  // Before the staging directory covers them.
  const bool as_trees = config.image_tree >= 0 && config.runtime_tree >= 0;
  Result<Fd> image = as_trees ? Fd() : open_layer(config.image);
  if (!image) return std::move(image.error());
  Result<Fd> runtime = as_trees ? Fd() : open_layer(config.runtime);
  if (!runtime) return std::move(runtime.error());
  Result<Fd> layers = as_trees || config.layers.empty() ? Fd() : open_layer(config.layers);
  if (!layers) return std::move(layers.error());
  Result<Fd> wheels = as_trees || config.wheels.empty() ? Fd() : open_layer(config.wheels);
  if (!wheels) return std::move(wheels.error());
  Result<Fd> environments =
      as_trees || config.environments.empty() ? Fd() : open_layer(config.environments);
  if (!environments) return std::move(environments.error());
  if (::mount("staging", kStaging, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755") != 0)
    return Error::from_errno("mounting the staging directory");
  if (::chdir(kStaging) != 0) return Error::from_errno("entering the staging directory");
  if (as_trees) {
    if (Status s = attach_tree(config.image_tree, "image"); !s) return s;
    if (Status s = attach_tree(config.runtime_tree, "runtime"); !s) return s;
    if (config.layers_tree >= 0)
      if (Status s = attach_tree(config.layers_tree, "layers"); !s) return s;
    if (config.wheels_tree >= 0)
      if (Status s = attach_tree(config.wheels_tree, "wheels"); !s) return s;
    if (config.environments_tree >= 0)
      if (Status s = attach_tree(config.environments_tree, "environments"); !s) return s;
  } else {
    if (Status s = bind_layer(*image, "image"); !s) return s;
    if (Status s = bind_layer(*runtime, "runtime"); !s) return s;
    if (*layers)
      if (Status s = bind_layer(*layers, "layers"); !s) return s;
    if (*wheels)
      if (Status s = bind_layer(*wheels, "wheels"); !s) return s;
    if (*environments)
      if (Status s = bind_layer(*environments, "environments"); !s) return s;
  }
  if (::mkdir("root", 0755) != 0 || ::mkdir("proc", 0755) != 0 || ::mkdir("empty", 0755) != 0 ||
      ::mkdir(kPackagesStaging, 0755) != 0)
    return Error::from_errno("making a staging directory");
  return ok();
}

}  // namespace vitrine::keeper
