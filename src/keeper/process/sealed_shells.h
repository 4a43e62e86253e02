// SPDX-License-Identifier: Apache-2.0
// The full jail's shells: built by the builder, held by their init, which holds their namespaces.
//
// Builds wait for their turn among all that the builder is asked for (builder_requests.h). The time limit
// of one begins when it is sent.
//
// Threading: the keeper's loop.
// Failure:   a shell that cannot be built gives an Error and leaves nothing behind.
#pragma once

#include <memory>
#include <unordered_map>

#include "jail/cgroup_tree.h"
#include "keeper/process/builder.h"
#include "keeper/process/builder_messages.h"
#include "keeper/process/builder_requests.h"
#include "keeper/process/shells.h"

namespace vitrine::keeper {

class SealedShells final : public Shells {
 public:
  SealedShells(Loop& loop, Reaper& reaper, jail::CgroupTree* cgroups, BuilderConfig config);

  Level level() const override { return Level::full; }
  // Starts the builder, now and whenever it dies.
  Status start() override;
  void build(const Limits& limits, Built built) override;
  Result<Fd> join_fd(const Shell& shell) const override;
  Status place_worker(Shell& shell, int pid) override;
  void end_inside(Shell& shell) override;
  void retire(Shell* shell, std::function<void()> gone) override;
  // The builder makes them, too.
  Status start_zygote(const StartZygote& request, int socket, int zygote_filter, int worker_filter,
                      std::function<void(Result<int>)> cloned) override {
    return requests_.start_zygote(request, socket, zygote_filter, worker_filter, std::move(cloned));
  }
  void listen(const Shell& shell, std::uint16_t port,
              std::function<void(Result<Fd>)> listening) override {
    requests_.listen(shell, port, std::move(listening));
  }
  void mount_layers(const Shell& shell, const LayerList& layers, const std::string& environment,
                    std::function<void(Status)> done) override {
    requests_.mount_layers(shell, layers, environment, std::move(done));
  }
  Status start_display(StartDisplay request, const std::vector<int>& fds,
                       std::function<void(Result<int>)> cloned) override {
    return requests_.start_display(request, fds, std::move(cloned));
  }
  Status watch_display(Shell& shell) override;
  bool has_screen_helper() const override { return config_.screen_program >= 0; }
  std::size_t alive() const override {
    return shells_.size() + building_.size() + retiring_ + requests_.window().waiting();
  }
  bool delegated() const override { return delegated_; }
  std::pair<int, int> base_processes() const override {
    return {builder_.pid, builder_.outer_init};
  }
  // Ends the builder and the outer namespaces.
  void stop() override;
  bool stopped() const override { return builder_.pid < 0 && builder_.outer_init < 0; }
  void inject_faults(Faults faults) override { faults_ = std::move(faults); }

 private:
  struct Build {
    std::unique_ptr<Shell> shell;
    Fd channel;
    Built built;
    TimerId timer = 0;
    std::string failure;
    bool ready = false;
  };

  void build_now(const Limits& limits, Built built);
  void read_builder();
  void take_answer(Cloned cloned);
  void builder_died();
  void outer_init_died();
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
  std::uint32_t next_slot_ = 0;
  Faults faults_;
  std::size_t retiring_ = 0;
  bool stopping_ = false;
  bool delegated_ = false;  // builder and zygotes clone straight into sessions' cgroups
  BuilderRequests requests_;
  std::vector<std::uint32_t> free_slots_;
  std::unordered_map<std::uint64_t, Build> building_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Shell>> shells_;
};

}  // namespace vitrine::keeper
