// SPDX-License-Identifier: Apache-2.0
// Processes that record displays, one for each recording.
//
// An encoder gets a user id that nothing else has, and one socket, through which the front sends it
// what to read and where to write. It is not of the session: it is not in its cgroup, and what it
// holds of it is the framebuffer.
//
// Ownership: ends them with their session and with the keeper. One that is asked to end, or whose front
//            has shut its socket down (it waited in vain for the film's end), has kEndTime to finish its
//            file; then it is killed. The keeper holds both ends of the socket, so an encoder whose
//            front is killed records on; if no other takes it over within kOrphanTime, it ends.
// Threading: the keeper's loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>

#include "base/fd.h"
#include "keeper/reaper.h"

namespace vitrine::keeper {

class Encoders {
 public:
  static constexpr std::size_t kMax = 16;  // at the same time
  static constexpr std::chrono::milliseconds kEndTime{5'000};
  static constexpr std::chrono::milliseconds kOrphanTime{30'000};

  // Without a program every start is `unsupported`. `user`: none = the keeper's own.
  Encoders(Loop& loop, Reaper& reaper, Fd program, std::optional<uid_t> user)
      : loop_(loop), reaper_(reaper), program_(std::move(program)), user_(user) {}

  // Its number, for socket(). `owner` is the connection that asked.
  Result<std::uint64_t> start(std::uint64_t session, std::uint64_t owner);
  // Also of one that ended a moment ago: its last word may still be there. `not_found` otherwise.
  Status adopt(std::uint64_t encoder, std::uint64_t owner);
  // The front's end of its socket, a plain look; only after success of the two above.
  int socket(std::uint64_t encoder) const { return encoders_.at(encoder).front.get(); }
  void owner_left(std::uint64_t owner);
  // Asks those of the session to end; they finish their files meanwhile.
  void end(std::uint64_t session);
  void stop();

  std::size_t count() const;  // those that run
  // Of all that ran and run, as the kernel counts it.
  std::chrono::microseconds cpu_time() const;

 private:
  struct Encoder {
    std::uint64_t session = 0;
    std::uint64_t owner = 0;
    int pid = -1;          // -1 = it has ended
    Fd front;              // the front's end: what nobody has read is in it
    Fd socket;             // its own end: closing it for reading tells it to end
    bool watched = false;  // for the front's leaving
    bool ending = false;
  };

  void ask_to_end(std::uint64_t id, Encoder& encoder);
  void ended(std::uint64_t id, const Ending& ending);
  void unwatch(Encoder& encoder);

  Loop& loop_;
  Reaper& reaper_;
  Fd program_;
  std::optional<uid_t> user_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Encoder> encoders_;
  std::chrono::microseconds cpu_of_ended_{0};
};

}  // namespace vitrine::keeper
