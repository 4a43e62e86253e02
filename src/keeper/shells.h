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
  std::string layer = {};  // the packages that are mounted in it

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

  // Mounts packages in a shell that stands; `done` is called once, later. The shell may be gone by
  // then: nothing of it is touched.
  void add_layer(const Shell& shell, const std::string& layer, std::function<void(Status)> done);
  // A TCP socket that listens on 127.0.0.1 in the shell's network namespace; later, once.
  void listen(const Shell& shell, std::uint16_t port, std::function<void(Result<Fd>)> listening);

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
  std::unordered_map<std::uint64_t, std::function<void(Result<int>)>> zygotes_;
  std::unordered_map<std::uint64_t, std::function<void(Status)>> layering_;
  std::unordered_map<std::uint64_t, std::function<void(Result<Fd>)>> listeners_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Shell>> shells_;
};

}  // namespace vitrine::keeper
