// SPDX-License-Identifier: Apache-2.0
#include "jail/cgroup_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "jail/cgroup_files.h"

namespace vitrine::jail {

namespace {

constexpr std::chrono::milliseconds kPatience{2000};
constexpr const char* kSelf = "/keeper";  // the keeper's own group on v2

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

// True if we ourselves are somewhere in <name>: another keeper's child, or the owner of a live tree.
// Sweeping it would kill us.
Result<bool> inside(const std::string& name) {
  Result<std::string> groups = read_file(AT_FDCWD, "/proc/self/cgroup");
  if (!groups) return std::move(groups.error());
  return groups->find("/" + name + "/") != std::string::npos ||
         groups->find("/" + name + "\n") != std::string::npos;
}

Status kill_and_remove(int own, const std::string& name) {
  if (::faccessat(own, name.c_str(), F_OK, 0) != 0) return ok();
  if (Status killed = kill_below(own, name); !killed) return killed;
  return remove_below(own, name, kPatience);
}

// All sessions, but not the group in which we and our own programs are.
Status end_sessions(int own, const std::string& name) {
  Result<std::vector<std::string>> groups = groups_in(own, name);
  if (!groups) return std::move(groups.error());
  for (const std::string& group : *groups)
    if (group != name + kSelf)
      if (Status done = kill_and_remove(own, group); !done) return done;
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
  for (const CgroupPlace& place : made.host.places) {
    Fd own(::open(place.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!own) return Error::from_errno("opening our own cgroup");
    if (Status s = kill_and_remove(own.get(), made.name); !s)
      return std::move(s.error()).during("sweeping old cgroups");
    if (::mkdirat(own.get(), made.name.c_str(), 0755) != 0)
      return Error::from_errno("making the cgroup of all sessions");
    made.own.push_back(std::move(own));
    Fd dir(::openat(made.own.back().get(), made.name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!dir) return Error::from_errno("opening the cgroup of all sessions");
    made.tree.push_back(std::move(dir));
    if (!hands_down_controllers(place)) continue;
    if (Status s = hand_down_controllers(place, made.own.back().get(), made.name); !s)
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
  for (std::size_t i = 0; i < roots_->own.size(); ++i) {
    const CgroupPlace& place = roots_->host.places[i];
    const int own = roots_->own[i].get();
    keep_first(end_sessions(own, roots_->name));
    if (hands_down_controllers(place)) {
      take_back_controllers(place, own, roots_->name);
      keep_first(remove_group(own, roots_->name + kSelf, kPatience));
    }
    keep_first(remove_group(own, roots_->name, kPatience));
  }
  roots_->tree.clear();
  roots_->own.clear();
  return first;
}

Result<Cgroup> CgroupTree::make(std::string_view session) {
  if (!is_name(session) || session == "keeper")
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
  const int kill = roots_->tree[*host.kill.place].get();
  if (::mkdirat(kill, (name + "/w").c_str(), 0755) != 0)
    return Error::from_errno("making a worker's cgroup");
  if (host.memory && host.places[*host.memory.place].version == CgroupVersion::v2) {
    const int memory = roots_->tree[*host.memory.place].get();
    if (Status s = write_file(memory, (name + "/memory.oom.group").c_str(), "1"); !s)
      return std::move(s.error()).during("making a session's cgroup");
  }
  return group;
}

}  // namespace vitrine::jail
