// SPDX-License-Identifier: Apache-2.0
// The control groups of one session: its limits, its use, and the only sure way to kill all of it.
//
// Layout, in each hierarchy the host offers: <own cgroup>/vitrine-<tree>/<session>. The hierarchy
// that kills also has <session>/w: init joins <session>, the worker and all its children
// <session>/w, so that a worker can be killed without its init. Limits are on <session> and cover
// both. No controller is ever switched on *inside* a session, so v2 lets <session> have members and
// groups alike.
//
// Ownership: the keeper owns the tree and every Cgroup; the tree should outlive them. A Cgroup that
//            was not removed kills its members and removes itself when destroyed (at most 50 ms).
// Threading: the keeper's one thread.
// Costs:     the tree holds one descriptor per hierarchy; a Cgroup holds none (one after
//            reset_peak() on v2, up to three after keep_files()). Files are opened when needed.
// Failure:   `unsupported` for whatever the host does not offer (CgroupHost says why),
//            `unavailable` for a process that is gone.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "jail/cgroup_host.h"

namespace vitrine::jail {

// The hierarchies in use and our directory in each. Part of CgroupTree, with an address that stays.
struct CgroupRoots {
  CgroupHost host;
  std::string name;               // vitrine-<tree>
  std::vector<Fd> own;            // our own cgroup, one per place
  std::vector<Fd> tree;           // <own>/<name>, one per place
  std::optional<uid_t> delegate;  // who may clone into the groups
};

struct CgroupLimits {
  // A field that is not set is left as it is; zero is refused.
  std::optional<std::uint64_t> memory_bytes;  // swap is never allowed on top
  std::optional<std::uint32_t> pids;          // processes and threads
  std::optional<std::uint32_t> worker_pids;   // of the worker alone; left out where it cannot be
  std::optional<std::uint32_t> cpu_permille;  // 1000 = one core; at least 10
};

// A field is empty where the host does not measure it.
struct CgroupUsage {
  std::optional<std::uint64_t> cpu_usec;
  std::optional<std::uint64_t> memory_peak_bytes;
  std::optional<std::uint64_t> memory_now_bytes;
};

// Descriptors of a session's groups for the process that is to be a member.
struct CgroupEntrance {
  Fd into;                   // v2: for clone3 with CLONE_INTO_CGROUP; empty where there is none
  std::vector<Fd> join_fds;  // v1: for enter_cgroups() in the child, before any cgroup namespace
};

class Cgroup {
 public:
  // Made by CgroupTree::make().
  Cgroup(const CgroupRoots& roots, std::string name);
  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&& other) noexcept;
  ~Cgroup();

  const std::string& name() const { return name_; }

  // Every limit that is set is in force afterwards, or the error names the first that is not.
  // `conflict` if more memory is in use than the new limit.
  Status set_limits(const CgroupLimits& limits);
  bool limits_worker_pids() const { return worker_pids_.has_value(); }

  // Moves a process, all its threads, into every hierarchy. Where several hierarchies are in use
  // and one refuses, the process is in some of them: end it. Children follow on their own.
  Status join_init(pid_t pid);
  Status join_worker(pid_t pid);

  // The fast way in, for a child that is about to be cloned: joining from outside waits for a lock
  // that all processes share (10 ms and more). `unsupported` unless the tree is delegated.
  enum class Member { init, worker };
  Result<CgroupEntrance> open_entrance(Member member) const;

  // After success every member has SIGKILL pending and none can be added by fork; they are gone
  // once populated() is false. Also works on frozen members.
  Status kill_all();
  Status kill_worker();
  Result<bool> populated() const;         // anybody, zombies not counted on v2
  Result<bool> worker_populated() const;  // anybody but init

  // A group for the next worker; worker_populated() must have been false. v2: since Linux 6.14 whoever
  // is cloned into a group that was killed once is killed too; so that one is made again, and one in
  // which everybody ended otherwise is used again.
  enum class Renewed { same, another };  // another: what was opened of the old one is of no use
  Result<Renewed> renew_worker();

  // From now on a file that is looked at again and again stays open. For a group that is used often.
  void keep_files();

  // Returns at once; members stop soon after. v1: the stopped are killed only when thawed.
  enum class Freeze { thaw, freeze };
  Status freeze(Freeze wanted);

  // How much processor time it gets beside other sessions that want it too. One with a small share
  // also waits longer for its turn, so those with the usual share hardly notice it.
  enum class Share { usual, small };
  Status set_share(Share share);

  // Every thread runs on these processors only, and so does what it starts.
  Status confine(const cpu_set_t& cpus);

  Result<CgroupUsage> usage() const;
  Result<std::uint64_t> cpu_usec() const;
  // For how long the threads that live now have waited for a processor, together.
  std::uint64_t waited_usec() const;
  // Of all sessions together, those that ended included.
  Result<std::uint64_t> cpu_usec_of_all() const;
  struct Meters {
    Fd cpu;
    Fd memory;
  };
  // The same as files, for somebody who may only look: cpu time ("usage_usec N" among other lines, or
  // plain nanoseconds), then the memory peak in bytes. Empty where the host does not measure it.
  Meters open_meters() const;
  // The next memory_peak_bytes counts from now. `unsupported` on v2 before Linux 6.12.
  Status reset_peak();

  // How many processes the kernel has killed here for want of memory, since the group was made.
  Result<std::uint64_t> oom_kills() const;
  // A descriptor that becomes ready for oom_poll_events() when the limit was hit (v1: an eventfd,
  // also ready when the group is removed; v2: memory.events, which changes for other reasons too).
  // Call drain_oom_event() and look at oom_kills() then. v1 kills one process only; on v2 all
  // members die.
  Result<Fd> oom_event() const;
  std::uint32_t oom_poll_events() const;

  // Removes the directories; members must be gone. `conflict` if some are still there after 50 ms.
  // After success the object is empty, as after a move: it may only be destroyed or assigned to.
  Status remove();

 private:
  friend class CgroupTree;
  enum class Group { session, worker };
  Status make_worker();
  std::string path(Group group) const;
  Status join(pid_t pid, Group group);
  Status kill(Group group);
  Result<bool> populated(Group group) const;
  Status set_memory(std::uint64_t bytes);
  Result<std::uint64_t> cpu_usec_below(const std::string& group) const;
  Status write(const CgroupOffer& offer, const char* file, std::string_view text) const;
  struct Kept {  // empty until needed
    Fd events;   // of the worker's group
    Fd kills;
    Fd peak;  // v1: for writing
  };
  Result<std::uint64_t> read_kept(Fd Kept::*file, const CgroupOffer& offer, const std::string& path,
                                  std::string_view key) const;
  int dir(const CgroupOffer& offer) const { return roots_->tree[*offer.place].get(); }
  bool is_v2(const CgroupOffer& offer) const {
    return roots_->host.places[*offer.place].version == CgroupVersion::v2;
  }

  const CgroupRoots* roots_;  // null = nothing left to remove
  std::string name_;
  std::optional<std::uint32_t> pids_;
  std::optional<std::uint32_t> worker_pids_;
  bool worker_killed_ = false;  // v2: with cgroup.kill, since its group was made
  std::unique_ptr<Kept> kept_;  // null = nothing is kept
  Fd peak_;                     // v2: resets are private to a descriptor
};

// Joins the calling thread. Async-signal-safe and free of allocations unless it fails.
Status enter_cgroup(int join_fd);

// After its poll event: makes the descriptor wait for the next one.
void drain_oom_event(int fd);

}  // namespace vitrine::jail
