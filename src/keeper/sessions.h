// SPDX-License-Identifier: Apache-2.0
// Sessions: who owns which sandbox, until when an execution may run, and why a worker is gone.
//
// It knows sandboxes by keeper/isolation.h alone.
// Truth:     causes of death come from the isolation (that is, from the kernel) and from what the keeper
//            itself did, never from the worker.
// Threading: the keeper's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "keeper/isolation.h"
#include "keeper/loop.h"
#include "wire/control.h"

namespace vitrine::keeper {

// Those who own sessions. An owner is a connection's number, which is never used again.
class SessionOwners {
 public:
  virtual ~SessionOwners() = default;
  virtual void notify(std::uint64_t owner, const wire::Event& event) = 0;
  virtual bool connected(std::uint64_t owner) const = 0;
};

class Sessions {
 public:
  using Opened = Answer<wire::Opened>;
  using Isolations = std::map<IsolationKind, Isolation*>;

  Sessions(Loop& loop, Isolations isolations, std::uint32_t capacity, SessionOwners& owners);
  ~Sessions();

  // `opened` is called once, now or later; the descriptors are then at fds().
  void create(const wire::Create& request, std::uint64_t owner, Opened opened);
  // A fresh worker under the same id: in a new sandbox, or (files kept) in the old one.
  void reset(const wire::Reset& request, std::uint64_t owner, Opened opened);
  Result<wire::Opened> attach(std::uint64_t session, std::uint64_t owner);
  // `done` when nothing of it is left.
  void end(std::uint64_t session, Done done);

  Status interrupt(std::uint64_t session, std::uint64_t execution);
  Status end_loop(const wire::EndLoop& request);
  Status ask_stack(std::uint64_t session, std::uint64_t execution);
  Status watch(const wire::Watch& request);
  Status unwatch(const wire::Unwatch& request);
  Status kill(std::uint64_t session);
  void usage(std::uint64_t session, Answer<wire::Used> answer);
  void freeze(const wire::Freeze& request, Done done);
  void open_display(const wire::OpenDisplay& request, Answer<OpenedDisplay> opened);
  void mount_layers(const wire::MountLayers& request, Done done);
  // Also of a dead session; good until the next call that changes it.
  Result<SandboxFiles*> files(std::uint64_t session);
  wire::Listed list(std::uint64_t after) const;
  std::vector<IsolationOffer> isolations() const;
  // Those that count against the capacity.
  std::size_t count() const { return sessions_.size() - services_; }
  // Whether fds() may be asked for.
  bool has_worker(std::uint64_t session) const;

  // Of a session that has a worker.
  WorkerFds fds(std::uint64_t session) const;

  // Ends all; nothing new is accepted.
  void stop();

 private:
  struct Session;

  void fill(Session& session, Opened opened);
  void filled(std::uint64_t id, Result<Isolation::Taken> taken, const Opened& opened);
  bool is_unwanted(const Session& session) const;
  void forget(std::uint64_t id);
  void thaw(Session& session);
  void attach_worker(Session& session, std::unique_ptr<Sandbox> sandbox);
  void worker_died(Session& session, Death death);
  void deadline_passed(std::uint64_t id);
  void grace_passed(std::uint64_t id);
  void stop_deadline(Session& session);
  Session* find(std::uint64_t id);
  Result<Session*> find_live(std::uint64_t id);

  Loop& loop_;
  Isolations isolations_;
  std::uint32_t capacity_;
  SessionOwners& owners_;
  std::uint64_t last_id_ = 0;
  std::size_t services_ = 0;  // of them, the server's own
  bool stopping_ = false;
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
};

}  // namespace vitrine::keeper
