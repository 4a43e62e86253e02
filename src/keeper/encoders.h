// SPDX-License-Identifier: Apache-2.0
// Processes that record displays, one for each recording.
//
// An encoder gets a user id that nothing else has, and one socket, through which the front sends it
// what to read and where to write. It is not of the session: it is not in its cgroup, and what it
// holds of it is the framebuffer.
//
// Ownership: ends them with their session and with the keeper. One that is asked to end, or whose front
//            has closed its socket (it left, or waited in vain for the film's end), has kEndTime to
//            finish its file; then it is killed.
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

  // Without a program every start is `unsupported`. `user`: none = the keeper's own.
  Encoders(Loop& loop, Reaper& reaper, Fd program, std::optional<uid_t> user)
      : loop_(loop), reaper_(reaper), program_(std::move(program)), user_(user) {}

  // The front's end of its socket.
  Result<Fd> start(std::uint64_t session);
  // Asks those of the session to end; they finish their files meanwhile.
  void end(std::uint64_t session);
  void stop();

  std::size_t count() const { return running_.size(); }
  // Of all that ran and run, as the kernel counts it.
  std::chrono::microseconds cpu_time() const;

 private:
  struct Encoder {
    std::uint64_t session = 0;
    Fd socket;             // its own end: closing it for reading tells it to end
    bool watched = false;  // for the front's leaving
    bool ending = false;
  };

  Result<int> spawn(int socket);
  void ask_to_end(int pid, Encoder& encoder);
  void unwatch(Encoder& encoder);

  Loop& loop_;
  Reaper& reaper_;
  Fd program_;
  std::optional<uid_t> user_;
  std::map<int, Encoder> running_;  // by pid
  std::chrono::microseconds cpu_of_ended_{0};
};

}  // namespace vitrine::keeper
