// SPDX-License-Identifier: Apache-2.0
// Shells: places in which one worker may live, and how they are made and taken down without a trace.
//
// Two implementations: SealedShells (namespaces; the full jail) and FloorShells (user ids, where
// namespaces are forbidden).
// Ownership: an implementation owns every Shell from build() to the end of retire(); others hold plain
//            pointers that stay good until they call retire().
// Threading: the keeper's loop.
// Failure:   a shell that cannot be built gives an Error and leaves nothing behind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jail/cgroup.h"
#include "jail/display.h"
#include "keeper/isolation.h"
#include "keeper/loop.h"
#include "keeper/process/network_traces.h"
#include "keeper/reaper.h"
#include "model/geometry.h"
#include "model/layer.h"
#include "model/level.h"
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

  // While a server starts, and after one failed; see keeper/process/displays.h.
  enum class Start { none, cloning, building };
  Start start = Start::none;
  Fd channel;
  TimerId timer = 0;
  std::uint32_t failures = 0;  // in a row
  std::uint32_t deaths = 0;
  std::vector<std::function<void(Status)>> waiting;
  std::function<void()> after_clone;  // the shell is to be taken down as soon as the pid is known
};

// What a worker is forked into a shell with.
struct Entrance {
  Fd join;  // see wire/fork.h
  jail::CgroupEntrance cgroups;
};

struct Shell {
  std::uint64_t id = 0;
  std::uint32_t slot = 0;
  Limits limits;
  std::optional<uid_t> user = {};  // the host's id of its code; none = the keeper's own
  int init = -1;                   // pid, a child of the keeper: init, or a warden (FloorShells)
  bool init_gone = false;
  Fd home;                            // O_PATH of its home directory; outlives the processes
  Fd lifeline;                        // FloorShells: all that is inside dies when it is closed
  std::shared_ptr<const Fd> ruleset;  // Landlock; null = none
  std::uint64_t scratch = 0;  // the filesystem whose inodes the ruleset names; 0 = not known
  std::optional<jail::Cgroup> cgroup;
  Fd oom;  // readable after the kernel killed for memory
  // Of a shell that was recycled once; else opened when needed.
  NetworkFiles network;
  std::shared_ptr<const Entrance> entrance;
  std::shared_ptr<const WorkerFds::Meters> meters;
  std::uint32_t uses = 0;  // workers that lived here
  Display display;
  std::optional<LayerList> layers = LayerList{};  // that are mounted in it; none = unknown,
  std::string environment = {};                   // and what is below them

  std::function<void()> on_init_gone;  // set by whoever uses the shell
};

// Null where the host does not measure.
std::shared_ptr<const WorkerFds::Meters> open_meters(const Shell& shell);

inline constexpr std::uint64_t kInodesPerMiB = 256;
inline std::uint64_t inodes_for(const Limits& limits) {
  return 1024 + (limits.disk_bytes >> 20) * kInodesPerMiB;
}

// As a shell of the pool is built.
inline bool has_default_shape(const Limits& limits) {
  const Limits usual;
  return limits.memory_bytes == usual.memory_bytes && limits.cpu_permille == usual.cpu_permille &&
         limits.processes == usual.processes && limits.disk_bytes == usual.disk_bytes;
}

// For tests: which system call of the next sequence is to fail, see jail::Sys.
using Faults = std::function<std::uint32_t()>;

struct StartZygote {  // fds: control socket, filters (two memfds)
  std::uint64_t zygote = 0;
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string packages = {};  // the operator's environment that it sees; "" = none
};

// Descriptor numbers a zygote finds.
inline constexpr int kZygoteControl = 3;
inline constexpr int kZygoteFilter = 4;
inline constexpr int kWorkerFilter = 5;

struct
    StartDisplay {  // fds: channel, listener, helper socket if wanted, v2 cgroup, join descriptors
  std::uint64_t display = 0;
  std::uint32_t slot = 0;
  Geometry geometry;
  jail::Cookie cookie{};
  std::uint32_t fail_at = 0;
  bool has_helper = false;
  bool has_cgroup = false;
};

class Shells {
 public:
  using Built = std::function<void(Result<Shell*>)>;

  Shells() = default;
  virtual ~Shells() = default;
  Shells(const Shells&) = delete;
  Shells& operator=(const Shells&) = delete;

  virtual Level level() const = 0;
  virtual Status start() = 0;

  // `built` is called once, later.
  virtual void build(const Limits& limits, Built built) = 0;

  // What a zygote forks a worker with: see wire/fork.h.
  virtual Result<Fd> join_fd(const Shell& shell) const = 0;
  // A worker was forked, and nobody has it yet.
  virtual Status place_worker(Shell& shell, int pid) = 0;
  // Kills all that is inside, and init with it.
  virtual void end_inside(Shell& shell) = 0;
  // The same; `gone` is called when every process is reaped and everything else of it removed.
  virtual void retire(Shell* shell, std::function<void()> gone) = 0;

  // A zygote lives beside the shells, in a root of its own; `started` with its pid, later. It waits for
  // a packet on its control socket.
  virtual Status start_zygote(const StartZygote& request, int socket, int zygote_filter,
                              int worker_filter, std::function<void(Result<int>)> started) = 0;

  // Mounts packages in a shell that stands: layers, an environment, or the ones over the other. `done` is
  // called once, later. The shell may be gone by then: nothing of it is touched.
  virtual void mount_layers(const Shell& shell, const LayerList& layers,
                            const std::string& environment, std::function<void(Status)> done) = 0;
  // A TCP socket that listens on 127.0.0.1 in the shell's network namespace; later, once.
  virtual void listen(const Shell& shell, std::uint16_t port,
                      std::function<void(Result<Fd>)> listening) = 0;

  // Used by displays. `cloned` is told the pid; fds as for StartDisplay.
  virtual Status start_display(StartDisplay request, const std::vector<int>& fds,
                               std::function<void(Result<int>)> cloned) = 0;
  // Calls on_display_wanted() at the next connection.
  virtual Status watch_display(Shell& shell) = 0;
  virtual bool has_screen_helper() const = 0;
  // Called when something connects to the display of a shell.
  void on_display_wanted(std::function<void(Shell&)> wanted) {
    display_wanted_ = std::move(wanted);
  }

  // With those that are being built or taken down.
  virtual std::size_t alive() const = 0;
  // Workers are cloned straight into their cgroups.
  virtual bool delegated() const = 0;
  // {builder, outer_init}: processes that hold everything up; -1 = none.
  virtual std::pair<int, int> base_processes() const = 0;
  // After the last shell: ends what is left; stopped() once it is gone.
  virtual void stop() = 0;
  virtual bool stopped() const = 0;
  virtual void inject_faults(Faults faults) = 0;

 protected:
  std::function<void(Shell&)> display_wanted_;
};

}  // namespace vitrine::keeper
