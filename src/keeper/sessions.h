// SPDX-License-Identifier: Apache-2.0
// Sessions: who owns which room, until when an execution may run, and why a worker is gone.
//
// Truth:     causes of death come from the kernel (wait status, cgroup) and from what the keeper
//            itself did, never from the worker.
// Threading: the keeper's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "keeper/displays.h"
#include "keeper/egress.h"
#include "keeper/files.h"
#include "keeper/rooms.h"
#include "wire/control.h"

namespace vitrine::keeper {

// A descriptor that stays its owner's, and what it is to a client.
struct NamedFd {
  wire::FdRole role;
  int fd;
};

class Sessions {
 public:
  using Opened = std::function<void(Result<wire::Opened>)>;
  using Done = std::function<void(Status)>;
  using Notify = std::function<void(std::uint64_t owner, const wire::Event&)>;

  using Connected = std::function<bool(std::uint64_t owner)>;

  Sessions(Loop& loop, Rooms& rooms, Egress& egress, Displays& displays, std::uint32_t capacity,
           Notify notify, Connected connected);

  // `opened` is called once, now or later; the descriptors are then at descriptors().
  void create(const wire::Create& request, std::uint64_t owner, Opened opened);
  // A fresh worker under the same id: in a new room, or (files kept) in the old one.
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
  Result<wire::Used> usage(std::uint64_t session);
  Status freeze(const wire::Freeze& request);
  // `opened` is called once, now or later; the descriptors are then at display_descriptors().
  using DisplayOpened = std::function<void(Result<wire::DisplayOpened>)>;
  void open_display(const wire::OpenDisplay& request, DisplayOpened opened);
  std::vector<NamedFd> display_descriptors(std::uint64_t session) const;
  void add_layer(const wire::AddLayer& request, Done done);
  // Also of a dead session; good until the next call that changes it.
  Result<Home> home(std::uint64_t session);
  wire::Listed list(std::uint64_t after) const;
  // Those that count against the capacity.
  std::size_t count() const { return sessions_.size() - services_; }

  // Whether descriptors() and what follows it may be asked for.
  bool has_worker(std::uint64_t session) const;
  // Of a live session and of its proxy, if it has one; plain looks.
  std::vector<NamedFd> descriptors(std::uint64_t session) const;
  // What its client may measure it with; see jail::Cgroup::open_meters().
  jail::Cgroup::Meters meters(std::uint64_t session) const;

  // Ends all; nothing new is accepted.
  void stop();

 private:
  struct Session {
    std::uint64_t id = 0;
    std::uint64_t owner = 0;
    wire::Create request;
    std::unique_ptr<Room> room = {};    // null while it is being made
    std::unique_ptr<Proxy> proxy = {};  // null without a network, and once it is dead
    std::optional<Death> death = {};
    std::optional<Cause> killing = {};  // why we are about to kill its worker
    std::uint64_t watched = 0;          // execution
    std::uint64_t overdue = 0;          // execution whose time was up
    TimerId deadline = 0;
    TimerId calm = 0;                // until it is known whether it still uses the processor
    std::uint32_t calm_periods = 0;  // in a row
    std::uint32_t times_caught = 0;  // burning with no execution that lasts
    std::uint64_t swept_usec = 0;    // processor time at the last sweep; 0 = none yet
    Clock::time_point swept{};
    bool announced = false;  // a client was told its number
    Done after_fill = {};    // it is to be ended as soon as it is made
    std::string layer = {};  // its packages, which it has after a reset too
    bool layering = false;   // packages are being added: its room stays
    Done after_layer = {};   // it is to be ended as soon as they are
  };

  void fill(std::uint64_t id, Opened opened);
  void filled(std::uint64_t id, Result<Rooms::Taken> taken, const Opened& opened);
  void lay(std::uint64_t id, std::shared_ptr<Rooms::Taken> taken, const Opened& opened);
  void open_network(std::uint64_t id, Rooms::Taken taken, Opened opened);
  void give_up(std::uint64_t id, Error error, std::unique_ptr<Room> room,
               std::unique_ptr<Proxy> proxy, const Opened& opened);
  // The proxy first: it is in the room's cgroup.
  void leave(std::unique_ptr<Room> room, std::unique_ptr<Proxy> proxy, std::function<void()> gone);
  bool is_unwanted(const Session& session) const;
  void move_in(Session& session, std::unique_ptr<Room> room);
  void worker_ended(std::uint64_t id, Death death);
  void deadline_passed(std::uint64_t id);
  void unwatch_now(Session& session);
  void look_for_calm(Session& session, std::uint64_t wanted_us);
  void sweep_later();
  void sweep();
  void forget(std::uint64_t id);
  Session* find(std::uint64_t id);
  Result<Session*> find_live(std::uint64_t id);

  Loop& loop_;
  Rooms& rooms_;
  Egress& egress_;
  Displays& displays_;
  std::uint32_t capacity_;
  Notify notify_;
  Connected connected_;
  std::uint64_t last_id_ = 0;
  bool stopping_ = false;
  TimerId sweep_ = 0;
  std::uint64_t last_swept_ = 0;  // session
  std::map<std::uint64_t, Session> sessions_;
  std::size_t services_ = 0;  // of them, the server's own
};

}  // namespace vitrine::keeper
