// SPDX-License-Identifier: Apache-2.0
#include "jail/cgroup_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "jail/cgroup_files.h"

namespace vitrine::jail {

namespace {

constexpr std::chrono::milliseconds kPatience{2000};
constexpr const char* kSelf = "/keeper";  // the keeper's own group on v2
constexpr const char* kCore = "core";     // its builder and zygotes on v2

bool is_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), plain);
}

// "+memory +pids" or "-memory -pids"
std::string switches(const CgroupPlace& place, char sign) {
  std::string text;
  for (const std::string& controller : place.controllers)
    text += (text.empty() ? "" : " ") + std::string(1, sign) + controller;
  return text;
}

bool hands_down_controllers(const CgroupPlace& place) {
  return place.version == CgroupVersion::v2 && !place.controllers.empty();
}

// The real root may have members and children with controllers; it alone has no type.
bool may_keep_members(int own) { return ::faccessat(own, "cgroup.type", F_OK, 0) != 0; }

Status move_self(int dir, const std::string& group) {
  const std::string file = group + "/cgroup.procs";
  return write_file(dir, file.c_str(), std::to_string(::getpid()));
}

Status hand_down_controllers(const CgroupPlace& place, int own, const std::string& name) {
  const std::string self = name + kSelf;
  if (!may_keep_members(own)) {
    if (::mkdirat(own, self.c_str(), 0755) != 0) return Error::from_errno("making our own cgroup");
    if (Status s = move_self(own, self); !s) return s;
  }
  const std::string wanted = switches(place, '+');
  Status done = write_file(own, "cgroup.subtree_control", wanted);
  if (!done && done.error().code == Code::conflict)
    return std::move(done.error())
        .during("taking over our cgroup")
        .with_remedy(
            "other processes share it; start vitrine in a cgroup of its own, for example with "
            "systemd-run --scope -p Delegate=yes");
  if (done) done = write_file(own, (name + "/cgroup.subtree_control").c_str(), wanted);
  return done;
}

void take_back_controllers(const CgroupPlace& place, int own, const std::string& name) {
  const std::string unwanted = switches(place, '-');
  (void)write_file(own, (name + "/cgroup.subtree_control").c_str(), unwanted);
  if (may_keep_members(own)) return;  // others may rely on what the real root hands down
  (void)write_file(own, "cgroup.subtree_control", unwanted);
  (void)move_self(own, ".");
}

// True if we ourselves are somewhere in <name>: another keeper's child, or the owner of a live
// tree. Sweeping it would kill us.
Result<bool> inside(const std::string& name) {
  Result<std::string> groups = read_file(AT_FDCWD, "/proc/self/cgroup");
  if (!groups) return std::move(groups.error());
  return groups->find("/" + name + "/") != std::string::npos ||
         groups->find("/" + name + "\n") != std::string::npos;
}

// All sessions, but not the group in which we and our own programs are.
Result<std::vector<std::string>> sessions_in(int own, const std::string& name) {
  Result<std::vector<std::string>> groups = groups_in(own, name);
  if (groups) std::erase(*groups, name + kSelf);
  return groups;
}

// Kills in every hierarchy before it removes in any: on v1 the frozen die only once the freezer's
// hierarchy has been visited.
Status sweep(std::span<const Fd> own, const std::string& name) {
  for (const Fd& dir : own)
    if (::faccessat(dir.get(), name.c_str(), F_OK, 0) == 0)
      if (Status killed = kill_below(dir.get(), name); !killed) return killed;
  for (const Fd& dir : own)
    if (Status removed = remove_below(dir.get(), name, kPatience); !removed) return removed;
  return ok();
}

}  // namespace

Result<CgroupTree> CgroupTree::create(const CgroupHost& host, std::string_view name) {
  if (!is_name(name)) return Error{Code::invalid_argument, "this is no name for a cgroup"};
  if (host.places.empty()) return Error{Code::unsupported, "no cgroups: " + host.kill.refusal};
  auto roots = std::make_unique<CgroupRoots>();
  roots->host = host;
  roots->name = "vitrine-" + std::string(name);
  // Cleans up what the loop below made, should it fail half-way.
  CgroupTree tree(std::move(roots));
  CgroupRoots& made = *tree.roots_;
  Result<bool> within = inside(made.name);
  if (!within) return std::move(within.error());
  if (*within) return Error{Code::conflict, "we live inside the cgroup that we are to clean up"};
  std::vector<Fd> own;
  for (const CgroupPlace& place : made.host.places) {
    own.emplace_back(::open(place.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!own.back()) return Error::from_errno("opening our own cgroup");
  }
  if (Status swept = sweep(own, made.name); !swept)
    return std::move(swept.error()).during("sweeping old cgroups");
  for (std::size_t i = 0; i < own.size(); ++i) {
    const int dir = own[i].get();
    if (::mkdirat(dir, made.name.c_str(), 0755) != 0)
      return Error::from_errno("making the cgroup of all sessions");
    made.own.push_back(std::move(own[i]));
    made.tree.emplace_back(::openat(dir, made.name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!made.tree.back()) return Error::from_errno("opening the cgroup of all sessions");
    if (!hands_down_controllers(made.host.places[i])) continue;
    if (Status s = hand_down_controllers(made.host.places[i], dir, made.name); !s)
      return std::move(s.error());
  }
  return tree;
}

CgroupTree::~CgroupTree() {
  if (roots_) (void)remove();
}

Status CgroupTree::remove() {
  Status first = ok();
  const auto keep_first = [&](Status done) {
    if (!done && first) first = std::move(done);
  };
  const auto each_session = [&](int own, auto act) {
    Result<std::vector<std::string>> sessions = sessions_in(own, roots_->name);
    if (!sessions) return keep_first(std::move(sessions.error()));
    for (const std::string& session : *sessions) keep_first(act(own, session));
  };
  for (const Fd& own : roots_->own) each_session(own.get(), kill_below);  // see sweep()
  for (std::size_t i = 0; i < roots_->own.size(); ++i) {
    const int own = roots_->own[i].get();
    each_session(own, [](int dir, const std::string& session) {
      return remove_below(dir, session, kPatience);
    });
    if (hands_down_controllers(roots_->host.places[i])) {
      take_back_controllers(roots_->host.places[i], own, roots_->name);
      keep_first(remove_group(own, roots_->name + kSelf, kPatience));
    }
    keep_first(remove_group(own, roots_->name, kPatience));
  }
  // The descriptors of the tree stay: a Cgroup that has outlived it finds nothing there.
  roots_->own.clear();
  return first;
}

Status CgroupTree::delegate(uid_t user) {
  for (std::size_t i = 0; i < roots_->tree.size(); ++i) {
    if (roots_->host.places[i].version != CgroupVersion::v2) continue;
    const int tree = roots_->tree[i].get();
    if (::mkdirat(tree, kCore, 0755) != 0) return Error::from_errno("making the core cgroup");
    // The common ancestor of where a clone comes from and where it goes must be writable for it.
    if (::fchownat(tree, "cgroup.procs", user, static_cast<gid_t>(-1), 0) != 0)
      return Error::from_errno("delegating the cgroups");
  }
  roots_->delegate = user;
  return ok();
}

Status CgroupTree::join_core(pid_t pid) {
  for (std::size_t i = 0; i < roots_->tree.size(); ++i)
    if (roots_->host.places[i].version == CgroupVersion::v2)
      if (Status s =
              write_file(roots_->tree[i].get(), (std::string(kCore) + "/cgroup.procs").c_str(),
                         std::to_string(pid));
          !s)
        return std::move(s.error()).during("joining the core cgroup");
  return ok();
}

Result<Cgroup> CgroupTree::make(std::string_view session) {
  if (!is_name(session) || session == "keeper" || session == kCore)
    return Error{Code::invalid_argument, "this is no name for a cgroup"};
  const CgroupHost& host = roots_->host;
  const std::string name(session);
  for (std::size_t i = 0; i < roots_->tree.size(); ++i) {
    if (::mkdirat(roots_->tree[i].get(), name.c_str(), 0755) == 0) continue;
    Error error = Error::from_errno("making a session's cgroup");
    for (std::size_t j = 0; j < i; ++j)
      (void)remove_group(roots_->tree[j].get(), name, std::chrono::milliseconds(0));
    return error;
  }
  Cgroup group(*roots_, name);
  if (Status s = group.make_worker(); !s) return std::move(s.error());
  for (std::size_t i = 0; roots_->delegate && i < roots_->tree.size(); ++i)
    if (host.places[i].version == CgroupVersion::v2 &&
        ::fchownat(roots_->tree[i].get(), (name + "/cgroup.procs").c_str(), *roots_->delegate,
                   static_cast<gid_t>(-1), 0) != 0)
      return Error::from_errno("delegating a session's cgroup");
  if (host.memory && host.places[*host.memory.place].version == CgroupVersion::v2) {
    const int memory = roots_->tree[*host.memory.place].get();
    if (Status s = write_file(memory, (name + "/memory.oom.group").c_str(), "1"); !s)
      return std::move(s.error()).during("making a session's cgroup");
  }
  return group;
}

}  // namespace vitrine::jail
