// SPDX-License-Identifier: Apache-2.0
#include "engine/programs.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "engine/latency.h"

namespace vitrine::bench {

namespace {

constexpr char kScript[] = "import numpy, pandas, matplotlib.pyplot; print(1+1)";
constexpr std::chrono::seconds kPatience{120};

// Runs to the end and checks what it printed.
Result<double> time_program(Start what) {
  Result<FdPair> pipe = make_pipe();
  if (!pipe) return std::move(pipe.error());
  what.fds = {{pipe->second.get(), 1}};
  const auto start = control::Clock::now();
  Result<Process> process = bench::start(what);
  if (!process) return std::move(process.error());
  pipe->second.reset();
  std::string said;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(pipe->first.get(), buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<std::size_t>(got));
  const int status = process->wait();
  const double time = milliseconds_since(start);
  if (status != 0 || said != "2\n")
    return Error{Code::internal, what.argv[0] + " ended with " + std::to_string(status) +
                                     " and said '" + said + "'"};
  return time;
}

}  // namespace

Result<double> time_fresh_python(const ImageRoot& root) {
  return time_program({.argv = {"/usr/bin/python3", "-c", kScript},
                       .environment = plain_environment(),
                       .fds = {},
                       .prepare = [&root] { return enter_image(root); }});
}

Result<double> time_bubblewrap(const std::string& image_root) {
  const char* program = "/usr/bin/bwrap";
  if (::access(program, X_OK) != 0) return Error{Code::unsupported, "bubblewrap is not installed"};
  std::vector<std::string> argv{program,
                                "--unshare-all",
                                "--die-with-parent",
                                "--new-session",
                                "--ro-bind",
                                image_root,
                                "/",
                                "--proc",
                                "/proc",
                                "--dev",
                                "/dev",
                                "--tmpfs",
                                "/tmp",
                                "--tmpfs",
                                "/home/sandbox",
                                "--chdir",
                                "/home/sandbox",
                                "/usr/bin/python3",
                                "-c",
                                kScript};
  return time_program({.argv = argv, .environment = plain_environment(), .fds = {}});
}

Result<Peers> Peers::start(const std::string& python, const std::string& script,
                           const std::string& image_root) {
  Result<FdPair> requests = make_pipe();
  Result<FdPair> answers = make_pipe();
  if (!requests || !answers) return Error{Code::over_limit, "no descriptors are left"};
  Result<Process> process =
      bench::start({.argv = {python, script, image_root},
                    .environment = {},
                    .fds = {{requests->first.get(), 0}, {answers->second.get(), 3}}});
  if (!process) return std::move(process.error());
  Peers peers;
  peers.process_ = std::move(*process);
  peers.requests_ = std::move(requests->second);
  peers.answers_ = std::move(answers->first);
  return peers;
}

Result<std::string> Peers::line() {
  for (;;) {
    if (const auto end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    if (!control::wait_readable({answers_.get()}, control::Clock::now() + kPatience))
      return Error{Code::timed_out, "a peer does not answer"};
    const ssize_t got = ::read(answers_.get(), buffer, sizeof buffer);
    if (got <= 0) return Error{Code::unavailable, "peers.py is gone"};
    read_.append(buffer, static_cast<std::size_t>(got));
  }
}

Result<Peers::Values> Peers::measure(const std::string& peer) {
  const std::string request = peer + "\n";
  if (::write(requests_.get(), request.data(), request.size()) < 0)
    return Error::from_errno("asking peers.py");
  Values values;
  std::optional<Error> problem;
  for (;;) {
    Result<std::string> answer = line();
    if (!answer) return std::move(answer.error());
    std::istringstream words(*answer);
    std::string kind;
    words >> kind;
    if (kind == "end") break;
    if (kind == "value") {
      std::string metric;
      double value = 0;
      words >> metric >> value;
      values[metric].push_back(value);
      continue;
    }
    std::string reason;
    std::getline(words >> std::ws, reason);
    problem = Error{kind == "skip" ? Code::unsupported : Code::internal, peer + ": " + reason};
  }
  if (problem) return std::move(*problem);
  return values;
}

}  // namespace vitrine::bench
