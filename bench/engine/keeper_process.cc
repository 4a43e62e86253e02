// SPDX-License-Identifier: Apache-2.0
#include "engine/keeper_process.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

namespace vitrine::bench {

namespace {

constexpr std::chrono::seconds kReadyTime{60};
constexpr std::chrono::seconds kSettleTime{20};

}  // namespace

Result<KeeperProcess> KeeperProcess::start(const KeeperSetup& setup) {
  KeeperProcess keeper;
  keeper.setup_ = setup;
  std::filesystem::create_directories(setup.directory);
  const std::string control = setup.directory + "/control";
  ::unlink(control.c_str());
  Result<FdPair> pipe = make_pipe();
  if (!pipe) return std::move(pipe.error());
  std::vector<std::string> argv{setup.program, "--control", control,    "--name",
                                setup.name,    "--image",   setup.image};
  argv.insert(argv.end(), setup.options.begin(), setup.options.end());
  Result<Process> process =
      bench::start({.argv = argv, .environment = {}, .fds = {{pipe->second.get(), 1}}});
  if (!process) return std::move(process.error());
  keeper.process_ = std::move(*process);
  pipe->second.reset();
  char line[256];
  if (!control::wait_readable({pipe->first.get()}, control::Clock::now() + kReadyTime) ||
      ::read(pipe->first.get(), line, sizeof line) <= 0)
    return Error{Code::unavailable, "the keeper did not become ready", "", "see its log above"};
  Result<control::ControlClient> client = control::ControlClient::connect(control);
  if (!client) return std::move(client.error());
  keeper.client_.emplace(std::move(*client));
  Result<Pools> pools = keeper.pools();
  if (!pools) return std::move(pools.error());
  keeper.full_ = *pools;
  return keeper;
}

Result<KeeperProcess::Pools> KeeperProcess::pools() {
  Result<KeeperInfo> info = client_->info();
  if (!info) return std::move(info.error());
  return Pools{.bare = info->pools.bare, .loaded = info->pools.loaded, .empty = info->pools.empty};
}

Status KeeperProcess::settle() {
  const auto until = control::Clock::now() + kSettleTime;
  while (control::Clock::now() < until) {
    Result<Pools> now = pools();
    if (!now) return std::move(now.error());
    if (now->bare >= full_.bare && now->loaded >= full_.loaded && now->empty >= full_.empty)
      return ok();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Error{Code::timed_out, "the keeper's pools did not fill up again"};
}

Status KeeperProcess::stop() {
  client_.reset();
  if (const int status = process_.stop(); status != 0)
    return Error{Code::internal, "the keeper ended with wait status " + std::to_string(status)};
  if (std::filesystem::exists(setup_.directory + "/control"))
    return Error{Code::internal, "the keeper left its socket behind"};
  return ok();
}

}  // namespace vitrine::bench
