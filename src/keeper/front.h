// SPDX-License-Identifier: Apache-2.0
// The front: the program that speaks HTTP, under a uid of its own, started by the keeper and started
// again whenever it dies, on the same listening socket. Its sessions wait for it meanwhile.
#pragma once

#include <string>
#include <vector>

#include "keeper/control.h"

namespace vitrine::keeper {

struct FrontConfig {
  std::string program;
  std::vector<std::string> arguments;
  std::string listen;         // "127.0.0.1:8000", "[::1]:8000", "0.0.0.0:0"
  std::string data;           // directory; made if missing, and handed to the front
  std::optional<uid_t> user;  // none = the keeper's own
};

// Descriptors the front finds: its control connection, the listening socket, a pipe that it closes or
// writes to when it answers requests for the first time.
inline constexpr int kFrontControl = 3;
inline constexpr int kFrontListener = 4;
inline constexpr int kFrontReady = 5;

class Front {
 public:
  Front(Loop& loop, Reaper& reaper, Control& control, FrontConfig config)
      : loop_(loop), reaper_(reaper), control_(control), config_(std::move(config)) {}

  // Binds the socket, prepares the data directory, starts the program. Once, `ready` is called, or
  // `failed` if the program ends again and again before it was ever ready, or at once if it refuses
  // its settings: with the exit code for the keeper.
  Status start(std::function<void()> ready, std::function<void(int)> failed);
  void stop(std::function<void()> stopped);  // SIGTERM, and SIGKILL if it does not help

  void tell(int signal) const {
    if (pid_ > 0) reaper_.signal(pid_, signal);
  }

  const std::string& address() const { return address_; }
  int pid() const { return pid_; }
  std::uint64_t restarts() const { return restarts_; }

 private:
  Status bind();
  Status prepare_data();
  Status check_reachable() const;
  Status spawn();
  void died(Ending ending);
  void start_again();
  void became_ready();

  Loop& loop_;
  Reaper& reaper_;
  Control& control_;
  FrontConfig config_;
  Fd listener_;
  Fd ready_pipe_;
  std::string address_;
  int pid_ = -1;
  std::uint32_t failures_ = 0;  // starts in a row that came to nothing
  std::uint64_t restarts_ = 0;
  bool was_ready_ = false;  // the one that runs, or the last that ran
  std::function<void()> ready_;
  std::function<void(int)> failed_;
  std::function<void()> stopped_;
  bool stopping_ = false;
};

// The pause before the next front is started, after so many starts in a row that came to nothing: one
// that was ready is replaced at once, and no pause makes clients wait for a second.
std::chrono::milliseconds restart_pause(std::uint32_t failures);

}  // namespace vitrine::keeper
