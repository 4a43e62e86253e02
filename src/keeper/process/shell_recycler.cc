// SPDX-License-Identifier: Apache-2.0
#include "keeper/process/shell_recycler.h"

#include <poll.h>

#include <utility>

#include "keeper/process/entrance.h"
#include "keeper/process/network_traces.h"

namespace vitrine::keeper {

namespace {

constexpr int kTries = 50;
constexpr std::chrono::milliseconds kPause{2};

// Also by a connection that nobody has looked at yet: what it says would reach the next one's server.
bool was_display_wanted(const Shell& shell) {
  pollfd listener{.fd = shell.display.listener.get(), .events = POLLIN, .revents = 0};
  return shell.display.used || ::poll(&listener, 1, 0) != 0;
}

// What every use of it needs stays open; what cannot be opened now is tried again then.
void keep_files(const Shells& shells, Shell& shell) {
  shell.cgroup->keep_files();
  if (!shell.meters) shell.meters = open_meters(shell);
  if (shell.entrance) return;
  if (Result<std::shared_ptr<const Entrance>> entrance = open_entrance(shells, shell))
    shell.entrance = std::move(*entrance);
}

}  // namespace

bool ShellRecycler::accepts(const Shell& shell) const {
  return !stopping_ && shell.cgroup && shell.layers == LayerList{} && shell.environment.empty() &&
         !shell.display.used && !shell.init_gone && shell.ruleset &&
         has_default_shape(shell.limits) && shell.uses < config_.uses_per_shell &&
         waiting_.size() < config_.shells;
}

void ShellRecycler::wait_empty(Shell* shell, std::function<void(Emptied)> then) {
  wait_empty(shell, kTries, std::move(then));
}

void ShellRecycler::wait_empty(Shell* shell, int tries, std::function<void(Emptied)> then) {
  Result<bool> populated = shell->cgroup->worker_populated();
  if (!populated || stopping_ || shell->init_gone || (*populated && tries == 0))
    return then(Emptied::no);
  if (!*populated) {
    using Renewed = jail::Cgroup::Renewed;
    const Result<Renewed> renewed = shell->cgroup->renew_worker();
    if (!renewed || *renewed == Renewed::another) shell->entrance.reset();
    return then(renewed ? Emptied::yes : Emptied::no);
  }
  if (tries == kTries && !shell->cgroup->kill_worker()) return then(Emptied::no);
  loop_.after(kPause,
              [this, shell, tries, then = std::move(then)] { wait_empty(shell, tries - 1, then); });
}

void ShellRecycler::recycle(Shell* shell, std::function<void()> gone) {
  wait_empty(shell, [this, shell, gone = std::move(gone)](Emptied emptied) {
    // Asked only now: while it lived it could still open a connection.
    if (emptied == Emptied::no || was_display_wanted(*shell) || left_network_traces(*shell))
      return shells_.retire(shell, gone);
    keep_files(shells_, *shell);
    (void)shell->cgroup->reset_peak();
    shell->home.reset();  // of the scratch space that the next worker replaces
    shell->on_init_gone = [this, shell] {
      std::erase(waiting_, shell);
      shells_.retire(shell, {});
    };
    waiting_.push_back(shell);
    if (gone) gone();
  });
}

bool ShellRecycler::left_network_traces(Shell& shell) {
  if (!shell.network[0]) {
    Result<NetworkFiles> files = open_network_files(shell.init);
    if (!files) return true;
    shell.network = std::move(*files);
  }
  return traces_.left_in(shell.network);
}

Shell* ShellRecycler::take() {
  if (waiting_.empty()) return nullptr;
  Shell* shell = waiting_.front();
  waiting_.pop_front();
  shell->on_init_gone = {};
  return shell;
}

void ShellRecycler::stop() {
  stopping_ = true;
  for (Shell* shell : std::exchange(waiting_, {})) shells_.retire(shell, {});
}

}  // namespace vitrine::keeper
