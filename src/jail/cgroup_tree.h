// SPDX-License-Identifier: Apache-2.0
// The keeper's directory in every cgroup hierarchy: <own cgroup>/vitrine-<name>, the parent of all
// sessions' groups.
//
// Ownership: one per keeper; should outlive its Cgroups. Destruction kills and removes the rest.
// Threading: the keeper's one thread. create() and the destructor may wait 2 s for the dying.
// v2:        a group that hands controllers to its children may have no members, so the keeper
//            moves itself (and thereby what it starts from then on) into vitrine-<name>/keeper, and
//            back at the end. On hybrid and v1 hosts it stays where it is.
#pragma once

#include <memory>
#include <string_view>

#include "jail/cgroup.h"

namespace vitrine::jail {

class CgroupTree {
 public:
  // Kills and removes what a crashed keeper of the same name has left, then starts anew; names must
  // therefore be unique among live keepers. `unsupported` if the host offers nothing at all,
  // `conflict` if other processes share our cgroup on a v2 host or if we live inside the leftovers.
  static Result<CgroupTree> create(const CgroupHost& host, std::string_view name);

  CgroupTree(CgroupTree&&) noexcept = default;
  CgroupTree& operator=(CgroupTree&&) = delete;
  ~CgroupTree();

  // A group for one session, without limits yet. `conflict` if the name is in use.
  Result<Cgroup> make(std::string_view session);

  const CgroupHost& host() const { return roots_->host; }

  // Lets processes of `user` that are in the core group clone into sessions' groups made from now on.
  Status delegate(uid_t user);
  // Moves a process of ours, and with it what it will clone, into the core group.
  Status join_core(pid_t pid);

  // What the destructor does, with the reason if something could not be removed. Nothing can be
  // made afterwards.
  Status remove();

 private:
  explicit CgroupTree(std::unique_ptr<CgroupRoots> roots) : roots_(std::move(roots)) {}

  std::unique_ptr<CgroupRoots> roots_;
};

}  // namespace vitrine::jail
