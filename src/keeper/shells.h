// SPDX-License-Identifier: Apache-2.0
// The keeper's shells: built by the builder, held by their init, taken down without a trace.
//
// Ownership: this class owns every Shell from build() to the end of retire(); others hold plain
//            pointers that stay good until they call retire().
// Threading: the keeper's loop.
// Failure:   a shell that cannot be built gives an Error and leaves nothing behind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "jail/cgroup_tree.h"
#include "keeper/builder.h"
#include "keeper/loop.h"
#include "keeper/reaper.h"
#include "model/limits.h"

namespace vitrine::keeper {

// The screen of a shell, from the socket that waits for its first client on.
struct Display {
  Fd listener;  // the keeper keeps its copy: when a server dies, the next client starts another
  jail::Cookie cookie{};
  Geometry geometry;
  int pid = -1;                  // of the X server; a child of the keeper
  bool used = false;             // something connected, or a client asked for it
  std::uint32_t generation = 0;  // servers so far
  Fd framebuffer;                // for reading
  Fd helper;                     // our end of the screen helper's socket; empty = none
  enum class Change { started, died };
  std::function<void(Change, const std::string& detail)> on_change;  // set by whoever uses it

  // While a server starts, and after one failed; see keeper/displays.h.
  enum class Start { none, cloning, building };
  Start start = Start::none;
  Fd channel;
  TimerId timer = 0;
  std::uint32_t failures = 0;  // in a row
  std::uint32_t deaths = 0;
  std::vector<std::function<void(Status)>> waiting;
  std::function<void()> after_clone;  // the shell is to be taken down as soon as the pid is known
};

struct Shell {
  std::uint64_t id = 0;
  std::uint32_t slot = 0;
  Limits limits;
  std::optional<uid_t> user = {};  // the host's id of its code; none = the keeper's own
  int init = -1;                   // pid, a child of the keeper
  bool init_gone = false;
  Fd home;                    // O_PATH of /home/sandbox; outlives the processes
  Fd ruleset;                 // Landlock
  std::uint64_t scratch = 0;  // the filesystem whose inodes the ruleset names; 0 = not known
  std::optional<jail::Cgroup> cgroup;
  Fd oom;                  // readable after the kernel killed for memory
  std::uint32_t uses = 0;  // workers that lived here
  Display display;

  std::function<void()> on_init_gone;  // set by whoever uses the shell
};

inline constexpr std::uint64_t kInodesPerMiB = 256;
inline std::uint64_t inodes_for(const Limits& limits) {
  return 1024 + (limits.disk_bytes >> 20) * kInodesPerMiB;
}

// For tests: which system call of the next sequence is to fail, see jail::Sys.
using Faults = std::function<std::uint32_t()>;

class Shells {
 public:
  using Built = std::function<void(Result<Shell*>)>;

  Shells(Loop& loop, Reaper& reaper, jail::CgroupTree* cgroups, BuilderConfig config);

  // Starts the builder, now and whenever it dies.
  Status start();

  // `built` is called once, later.
  void build(const Limits& limits, Built built);

  // Kills all that is inside; `gone` is called when every process is reaped and the cgroup removed.
  void retire(Shell* shell, std::function<void()> gone);

  // Used by zygotes, which the builder makes too.
  Status start_zygote(const StartZygote& request, int socket, int zygote_filter, int worker_filter,
                      std::function<void(Result<int>)> cloned);

  // Used by displays. `cloned` is told the pid; fds as for StartDisplay.
  Status start_display(StartDisplay request, const std::vector<int>& fds,
                       std::function<void(Result<int>)> cloned);
  // Called when something connects to the display of a shell.
  void on_display_wanted(std::function<void(Shell&)> wanted) {
    display_wanted_ = std::move(wanted);
  }
  // Calls on_display_wanted() at the next connection.
  Status watch_display(Shell& shell);
  bool has_screen_helper() const { return config_.screen_program >= 0; }

  // With those that are being built or taken down.
  std::size_t alive() const { return shells_.size() + building_.size() + retiring_; }
  bool delegated() const { return delegated_; }
  const Builder& builder() const { return builder_; }
  // After the last shell: ends the builder and the outer namespaces; stopped() once they are gone.
  void stop();
  bool stopped() const { return builder_.pid < 0 && builder_.foundation < 0; }
  void inject_faults(Faults faults) { faults_ = std::move(faults); }

 private:
  struct Build {
    std::unique_ptr<Shell> shell;
    Fd channel;
    Built built;
    TimerId timer = 0;
    std::string failure;
    bool ready = false;
  };

  void read_builder();
  void builder_died();
  void foundation_died();
  void restart();
  void init_cloned(Build& build, const Cloned& cloned);
  void read_channel(std::uint64_t id);
  static Error last_words(const Build& build, Error otherwise);
  void fail(std::uint64_t id, Error error);
  void finish(std::uint64_t id);
  void clean_up(std::unique_ptr<Shell> shell, std::function<void()> gone);
  Result<std::unique_ptr<Shell>> prepare(std::uint64_t id, const Limits& limits);

  Loop& loop_;
  Reaper& reaper_;
  jail::CgroupTree* cgroups_;  // null: this host has none for us
  BuilderConfig config_;
  Builder builder_;
  std::uint64_t last_id_ = 0;
  std::uint32_t next_slot_ = 0;
  Faults faults_;
  std::size_t retiring_ = 0;
  bool stopping_ = false;
  bool delegated_ = false;  // builder and zygotes clone straight into sessions' cgroups
  std::vector<std::uint32_t> free_slots_;
  std::unordered_map<std::uint64_t, Build> building_;
  // Zygotes and displays that the builder was asked for.
  std::unordered_map<std::uint64_t, std::function<void(Result<int>)>> others_;
  std::function<void(Shell&)> display_wanted_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Shell>> shells_;
};

}  // namespace vitrine::keeper
