// SPDX-License-Identifier: Apache-2.0
// Shells for hosts that forbid namespaces (--isolation-floor container): a user id, a directory below the
// image's home, Landlock rules, and a warden.
//
// The warden is a child of the keeper that does nothing but wait for the end of its lifeline, a pipe whose
// other end only the keeper has. Then it takes the session's user id and kills everything that has it, all
// at once and however often it forked: so a session ends by request, and also when the keeper is killed.
// Code in the session cannot signal it: its real and saved ids are root's, and then those of nobody else.
//
// Needs root, and the image for itself: homes lie in it, and user ids are handed out once.
// Threading: the keeper's loop.
#pragma once

#include <memory>
#include <unordered_map>

#include "jail/landlock.h"
#include "keeper/process/shells.h"

namespace vitrine::keeper {

struct FloorConfig {
  std::string image;             // the image's root directory
  std::string runtime;           // must lie in the image already: nothing can be mounted over it
  std::uint32_t first_user = 0;  // of kFloorUsers sessions; as many follow for their wardens
};

inline constexpr std::uint32_t kFloorUsers = 32768;

class FloorShells final : public Shells {
 public:
  FloorShells(Loop& loop, Reaper& reaper, FloorConfig config)
      : loop_(loop), reaper_(reaper), config_(std::move(config)) {}

  Level level() const override { return Level::container; }
  // `unsupported` or `conflict` where this wall cannot be built either. Removes what an earlier keeper left.
  Status start() override;
  void build(const Limits& limits, Built built) override;
  Result<Fd> join_fd(const Shell& shell) const override;
  Status place_worker(Shell& shell, int pid) override;
  void end_inside(Shell& shell) override { shell.lifeline.reset(); }
  void retire(Shell* shell, std::function<void()> gone) override;
  Status start_zygote(const StartZygote& request, int socket, int zygote_filter, int worker_filter,
                      std::function<void(Result<int>)> started) override;
  // There are no network namespaces: a listener would be the host's.
  void listen(const Shell& shell, std::uint16_t port,
              std::function<void(Result<Fd>)> listening) override;
  // Nor are there mounts, which packages, a display's jail and its socket need.
  void mount_layers(const Shell& shell, const LayerList& layers, const std::string& environment,
                    std::function<void(Status)> done) override;
  Status start_display(StartDisplay request, const std::vector<int>& fds,
                       std::function<void(Result<int>)> cloned) override;
  Status watch_display(Shell& /*shell*/) override { return ok(); }
  bool has_screen_helper() const override { return false; }
  std::size_t alive() const override { return shells_.size() + retiring_; }
  bool delegated() const override { return false; }
  std::pair<int, int> base_processes() const override { return {-1, -1}; }
  void stop() override {}
  bool stopped() const override { return alive() == 0; }
  void inject_faults(Faults faults) override { faults_ = std::move(faults); }

 private:
  Result<std::unique_ptr<Shell>> make(const Limits& limits);
  Status make_home(Shell& shell, jail::Sys& sys);
  // Sets `init` and `lifeline` of the shell.
  Status post_warden(Shell& shell, jail::Sys& sys);
  // Until the shell is asked to end, another one takes the place of a warden that fell.
  void watch_warden(Shell& shell);
  // Calls `dead` once nothing that has the shell's user id lives.
  void kill_all(const std::shared_ptr<Shell>& shell, int tries, std::function<void(bool)> dead);
  void remove_home(std::uint64_t shell, std::function<void()> removed);

  Loop& loop_;
  Reaper& reaper_;
  FloorConfig config_;
  Fd root_;   // O_PATH of the image's root
  Fd homes_;  // the directory that holds one directory per session
  Fd lock_;   // on homes_
  jail::LandlockSupport landlock_;
  Faults faults_;
  std::uint64_t last_id_ = 0;
  std::uint32_t next_slot_ = 0;
  std::vector<std::uint32_t> free_slots_;
  std::size_t retiring_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Shell>> shells_;
};

}  // namespace vitrine::keeper
