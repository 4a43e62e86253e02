// SPDX-License-Identifier: Apache-2.0
// The seam below the sessions: an Isolation is a kind of wall, a Sandbox is one place where code runs.
//
// Above it nobody knows of processes, cgroups, home directories or zygotes; below it nobody knows of
// owners, deadlines or clients. What a machine can only answer later is answered later here, too: by a
// callback that is called exactly once, now or later, also if the sandbox is gone by then.
//
// Ownership: a Sandbox belongs to whoever took it, and must come back through give_back() or refresh()
//            of the isolation that made it.
// Threading: the keeper's loop.
// Trust:     everything inside a sandbox is hostile; causes of death are the kernel's word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "model/geometry.h"
#include "model/isolation.h"
#include "model/keeper_info.h"
#include "model/layer.h"
#include "model/limits.h"
#include "model/network.h"
#include "model/session.h"
#include "wire/control.h"

namespace vitrine::keeper {

using Done = std::function<void(Status)>;
template <class T>
using Answer = std::function<void(Result<T>)>;

struct SandboxSpec {
  Variant variant = Variant::loaded;
  Lifetime lifetime = Lifetime::session;
  Limits limits = {};
  std::optional<Network> network = {};  // none = nothing but its own loopback
  Geometry display = {};
  std::string environment = {};  // model/environment.h; "" = the image alone
  LayerList layers = {};         // of packages, model/layer.h
  Policy policy = Policy::native;
};

// What a client talks to a worker with. Plain descriptors stay the sandbox's.
struct WorkerFds {
  int socket = -1;
  int out = -1;
  int err = -1;
  struct Meters {
    Fd cpu_time;
    Fd memory_peak;
  };
  std::shared_ptr<const Meters> meters = {};  // null where the host does not measure
  struct Egress {
    int log = -1;       // what its proxy decided; see wire/egress.h
    int counters = -1;  // also
  };
  std::optional<Egress> egress = {};  // none without a network
};

// Told by a sandbox what happens in it, from the loop. Must outlive the sandbox's stay with its owner;
// after give_back() and during refresh() nothing is told.
class SandboxObserver {
 public:
  virtual ~SandboxObserver() = default;
  // Its worker is gone. Once for each worker; the files stay. May be called from execution_ended().
  virtual void died(Death death) = 0;
  virtual void display_started() = 0;
  virtual void display_died(const std::string& detail) = 0;
};

struct OpenedFile {
  Fd file;
  wire::FileOpened about = {};
};

// Files below the sandbox's home, by relative paths, with the rights of its own code; see
// keeper/process/files.h for what is refused. Also of a dead worker. A verb that is under way when its
// sandbox goes back answers `unavailable`, or is done.
class SandboxFiles {
 public:
  virtual ~SandboxFiles() = default;
  // `path` "" = the home; a page of the entries behind `after`, in the order of their names.
  virtual void list(const std::string& path, const std::string& after,
                    Answer<wire::FilesListed> listed) = 0;
  virtual void open(const std::string& path, Answer<OpenedFile> opened) = 0;
  // A new file for writing that has no name yet. It is gone with its last descriptor unless commit()
  // gives it its name, in place of whatever file has that.
  virtual void create(const std::string& path, Answer<Fd> created) = 0;
  virtual void commit(const std::string& path, Fd file, Done done) = 0;
  virtual void remove(const std::string& path, Done done) = 0;
};

struct OpenedDisplay {
  wire::DisplayOpened about = {};
  int framebuffer = -1;  // the sandbox's
  int helper = -1;       // also; -1 = none
};

class SandboxDisplay {
 public:
  virtual ~SandboxDisplay() = default;
  // A server runs or is being started.
  virtual bool exists() const = 0;
  // Starts one unless it runs. Descriptors are good until the answer's handler returns.
  virtual void open(Answer<OpenedDisplay> opened) = 0;
};

enum class Freeze { thaw, freeze };

class Sandbox {
 public:
  Sandbox() = default;
  virtual ~Sandbox() = default;
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  virtual WorkerFds fds() const = 0;

  // Requests to the worker about one execution; lost if it is gone or executes something else.
  virtual void interrupt(std::uint64_t execution) = 0;
  virtual void ask_stack(std::uint64_t execution) = 0;  // it answers on its socket
  virtual void end_loop(std::uint64_t execution, wire::Screen screen) = 0;

  // A client waits for an execution, or no longer does: what uses the CPU otherwise is unexpected.
  virtual void execution_started() = 0;
  virtual void execution_ended() = 0;

  // Ends the worker and all it started; died() follows.
  virtual void kill() = 0;
  // `unsupported` where the host cannot.
  virtual void freeze(Freeze wanted, Done done) = 0;
  // Its worker waits for the client's next message: nothing is being executed.
  virtual void is_idle(Answer<bool> answer) = 0;
  virtual void usage(Answer<wire::Used> answer) = 0;

  virtual SandboxFiles& files() = 0;
  virtual SandboxDisplay* display() = 0;  // null = it has none
  // Adds packages to those it has. The sandbox must stay with its owner until `done` was called.
  virtual void mount_layers(const LayerList& layers, Done done) = 0;
};

class Isolation {
 public:
  struct Taken {
    std::unique_ptr<Sandbox> sandbox;
    Source source = Source::warm;
  };
  using Take = Answer<Taken>;

  Isolation() = default;
  virtual ~Isolation() = default;
  Isolation(const Isolation&) = delete;
  Isolation& operator=(const Isolation&) = delete;

  virtual Capabilities capabilities() const = 0;
  // Says no before anything starts: `unsupported` for what the host or the operator withholds,
  // `invalid_argument` for what is not there.
  virtual Status check(const SandboxSpec& spec) const = 0;

  // A sandbox with a worker that waits for its first message, its packages and network in place.
  virtual void take(const SandboxSpec& spec, SandboxObserver& observer, Take taken) = 0;
  // Kills what is inside; `gone` when nothing of it is left.
  virtual void give_back(std::unique_ptr<Sandbox> sandbox, std::function<void()> gone) = 0;
  // The same files, packages and network, and a new worker; only where can_refresh() says so.
  virtual bool can_refresh(const Sandbox& sandbox) const = 0;
  virtual void refresh(std::unique_ptr<Sandbox> sandbox, Take taken) = 0;

  // Fills the pools; called once at the start, then by itself.
  virtual void refill() = 0;
  virtual bool full() const = 0;
  // How often in a row a pool could not be filled.
  virtual std::uint32_t failures() const = 0;
  virtual PoolInfo counts() const = 0;
  // Ends what waits. Sandboxes that were taken still come back.
  virtual void stop() = 0;
};

}  // namespace vitrine::keeper
