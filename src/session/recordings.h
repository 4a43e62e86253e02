// SPDX-License-Identifier: Apache-2.0
// All recordings: those that run, and the films of those that ended, also of sessions that are gone.
//
// Ownership: one per front; it owns the files in its directory. Whatever lies there and is not known
//            is removed at the start. Encoders outlive a front that is killed: the next one takes
//            them over, and the films have no gap. Those of another keeper have ended with it.
// Owners:    a recording belongs to the identity that its session belonged to, and is found by that
//            one and by those who see all.
// Threading: the front's one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/clock.h"
#include "display/recorder.h"
#include "model/identity.h"
#include "model/settings.h"
#include "session/accounts.h"
#include "session/condition.h"
#include "session/session.h"
#include "store/store.h"

namespace vitrine::session {

struct Recording {
  Recording(asio::any_io_executor executor) : changes(std::move(executor)) {}

  std::string id;
  std::string session;
  std::string owner;
  std::string started_at;
  std::string ended_at;  // "" = it runs
  display::RecordingOptions wish;
  std::uint32_t width = 0;  // of the film
  std::uint32_t height = 0;
  std::uint32_t fps = 0;
  std::string codec;
  wire::encoder::Progress progress;
  std::string reason;  // of its end; see docs/display.md
  std::string detail;  // for people
  bool is_running() const { return ended_at.empty(); }

  // While it runs.
  std::uint64_t encoder = 0;  // what the keeper of this instance calls it
  std::string keeper;
  std::shared_ptr<display::Recorder> recorder;
  std::optional<std::pair<std::string, std::string>> asked;  // to end: reason, detail
  Clock::time_point latest{};
  bool removed = false;
  Condition changes;  // told when it has ended
};

struct RecordingLimits {
  std::uint64_t kept_bytes = std::uint64_t{settings::kRecordingsMb.otherwise}
                             << 20;  // of films that ended; the oldest go first
  std::size_t kept = 1000;
  std::size_t running = 16;  // what the keeper starts at most
  std::size_t running_of_named = 4;
};

class Recordings final : public ExecutionObserver {
 public:
  // `observer` is told when a recording begins, and when it has ended.
  Recordings(asio::any_io_executor executor, backend::KeeperLink& keeper, store::Store& store,
             ExecutionObserver& observer, std::string directory, RecordingLimits limits);

  // Finds what an earlier front has left. Once, before anything else.
  Status open();
  // Takes over the recordings that still run in this keeper, and ends the others. Once, after open().
  Task<void> adopt(std::string keeper_instance);

  // Why no further one may begin now; "no_capacity" = there are too many of all.
  std::optional<Error> refuses(const Identity& asks) const;
  // `unavailable` also where refuses() says why; `over_limit` = no room on the disk.
  Task<Result<std::shared_ptr<Recording>>> start(std::shared_ptr<Session> session,
                                                 display::RecordingOptions wish, Identity asks);
  // Returns when it has ended, which it may have before.
  Task<void> stop(std::shared_ptr<Recording> recording);
  void remove(std::shared_ptr<Recording> recording);
  // The session lost its screen, and has another soon or never.
  void display_ended(const std::string& session, const std::string& why) override;
  // Ends all, and gives them a moment to finish.
  Task<void> finish_all();

  std::shared_ptr<Recording> find(const std::string& session, const std::string& id,
                                  const Identity& asks) const;
  std::vector<std::shared_ptr<Recording>> list(const std::string& session,
                                               const Identity& asks) const;  // oldest first
  std::size_t running() const;
  std::uint64_t frames() const { return frames_; }  // encoded since the front began
  const RecordingLimits& limits() const { return limits_; }

  Result<Fd> film(const Recording& recording) const;
  std::uint64_t size(const Recording& recording) const;

 private:
  Task<void> follow(std::shared_ptr<Recording> recording);
  void ask_to_end(Recording& recording, std::string reason, std::string detail);
  void ended(Recording& recording, std::string reason, std::string detail);
  Status save(const Recording& recording);
  void make_room();
  void take_progress(Recording& recording, const wire::encoder::Progress& progress);
  std::string path(const Recording& recording) const;

  asio::any_io_executor executor_;
  backend::KeeperLink& keeper_;
  store::Store& store_;
  ExecutionObserver& observer_;
  std::string directory_;
  RecordingLimits limits_;
  std::vector<std::string> starting_ = {};  // owners
  std::string instance_;                    // of the keeper
  std::uint64_t frames_ = 0;
  std::unordered_map<std::string, std::shared_ptr<Recording>> all_;
};

}  // namespace vitrine::session
