// SPDX-License-Identifier: Apache-2.0
#include "server/server_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "control/blocking.h"

namespace vitrine::bench {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kReadyTime{60};
constexpr std::chrono::seconds kSettleTime{30};
// The kernel frees namespaces, cgroups and slab later than it reports a process dead.
constexpr std::chrono::seconds kCalm{2};

std::string text_of(const std::string& path) {
  Result<std::string> text = read_file(AT_FDCWD, path.c_str());
  return text ? *text : "";
}

long count(const std::string& path) {
  std::error_code gone;
  long found = 0;
  for (auto it = fs::recursive_directory_iterator(path, gone);
       !gone && it != fs::recursive_directory_iterator(); it.increment(gone))
    ++found;
  return found;
}

}  // namespace

Result<ServerProcess> ServerProcess::start(const ServerSetup& setup) {
  ServerProcess server;
  server.setup_ = setup;
  const std::string log = setup.directory + ".log";
  Fd errors(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  Result<FdPair> pipe = make_pipe();
  if (!pipe) return std::move(pipe.error());
  std::vector<std::string> argv{setup.program,   "serve",   "--listen",  "127.0.0.1:0", "--data",
                                setup.directory, "--image", setup.image, "--name",      setup.name};
  argv.insert(argv.end(), setup.options.begin(), setup.options.end());
  Result<Process> process = bench::start(
      {.argv = argv, .environment = {}, .fds = {{pipe->second.get(), 1}, {errors.get(), 2}}});
  if (!process) return std::move(process.error());
  server.process_ = std::move(*process);
  pipe->second.reset();
  char line[256] = {};
  if (!control::wait_readable({pipe->first.get()}, control::Clock::now() + kReadyTime) ||
      ::read(pipe->first.get(), line, sizeof line - 1) <= 0)
    return Error{Code::unavailable, "the server did not become ready: " + text_of(log)};
  const std::string said = line;
  server.port_ = static_cast<std::uint16_t>(std::atoi(said.c_str() + said.rfind(':') + 1));
  Result<Pools> pools = server.pools();
  if (!pools) return std::move(pools.error());
  server.full_ = *pools;
  return server;
}

Result<Answer> ServerProcess::info() {
  for (int attempt = 0;; ++attempt) {
    if (!client_) {
      Result<Client> client = Client::connect(port_);
      if (!client) return std::move(client.error());
      client_.emplace(std::move(*client));
    }
    Result<Answer> answer = client_->expect({.method = "GET", .target = "/v1/info"});
    if (answer || attempt > 0) return answer;
    client_.reset();  // silent for too long, or the front is another
  }
}

Result<int> ServerProcess::front() {
  Result<Answer> told = info();
  if (!told) return std::move(told.error());
  return std::atoi(told->field("front").c_str());
}

Result<long> ServerProcess::recycled() {
  if (Status s = settle(); !s) return std::move(s.error());
  Result<Answer> told = info();
  if (!told) return std::move(told.error());
  return std::atol(told->field("recycled").c_str());
}

Result<ServerProcess::Pools> ServerProcess::pools() {
  Result<Answer> told = info();
  if (!told) return std::move(told.error());
  const auto number = [&](const char* key) { return std::atol(told->field(key).c_str()); };
  return Pools{.bare = number("bare"), .loaded = number("loaded"), .empty = number("empty")};
}

Status ServerProcess::settle() {
  const auto until = std::chrono::steady_clock::now() + kSettleTime;
  while (std::chrono::steady_clock::now() < until) {
    Result<Pools> now = pools();
    if (!now) return std::move(now.error());
    if (now->bare >= full_.bare && now->loaded >= full_.loaded && now->empty >= full_.empty)
      return ok();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Error{Code::timed_out, "the server's pools did not fill up again"};
}

Result<Held> ServerProcess::holdings() {
  if (Status s = settle(); !s) return std::move(s.error());
  std::this_thread::sleep_for(kCalm);
  Result<int> pid = front();
  if (!pid) return std::move(pid.error());
  Holdings now = holdings_of(keeper(), setup_.name, setup_.directory);
  now.descriptors += count("/proc/" + std::to_string(*pid) + "/fd");
  now.files = count(setup_.directory);
  Result<long> kept = recycled();
  if (!kept) return std::move(kept.error());
  return Held{.all = now, .recycled = *kept};
}

Status ServerProcess::stop() {
  client_.reset();
  if (const int status = process_.stop(); status != 0)
    return Error{Code::internal, "the server ended with wait status " + std::to_string(status)};
  if (const long left = cgroups_named(setup_.name); left != 0)
    return Error{Code::internal, "the server left " + std::to_string(left) + " cgroups behind"};
  return ok();
}

}  // namespace vitrine::bench
