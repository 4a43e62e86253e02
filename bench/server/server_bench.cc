// SPDX-License-Identifier: Apache-2.0
// server_bench: starts what is to be measured, runs the rounds, prints the table.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/scratch.h"
#include "server/calls.h"
#include "server/many.h"
#include "server/options.h"
#include "server/rounds.h"
#include "server/summary.h"

namespace vitrine::bench::server {

namespace {

namespace fs = std::filesystem;

void say(const std::string& text) { std::fprintf(stderr, "bench: %s\n", text.c_str()); }

void raise_descriptor_limit() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

// Ctrl-C ends what we started; then every call fails, and the way out cleans up as always.
void end_children_on_signal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    int signal = 0;
    ::sigwait(&signals, &signal);
    say("stopping");
    for (int pid : children_of(::getpid())) ::kill(pid, SIGTERM);
  }).detach();
}

class Bench {
 public:
  Bench(const Options& options, std::string scratch)
      : options_(options), scratch_(std::move(scratch)) {}

  Status run() {
    started_ = std::chrono::steady_clock::now();
    cpu_before_ = machine_cpu();
    if (Status s = rounds(); !s) return s;
    const std::pair<const char*, Status (Bench::*)(ServerProcess&)> parts[] = {
        {"P4", &Bench::alive},
        {"crowd", &Bench::crowd},
        {"restart", &Bench::restarts},
        {"P9", &Bench::leaks}};
    for (const auto& [part, measure] : parts)
      if (options_.wants(part))
        if (Status s = alone(part, measure); !s) return std::move(s.error()).during(part);
    return ok();
  }

  // Call when everything has been stopped: only then is all of our own CPU time known.
  Report report() const {
    const double seconds = milliseconds_since(started_) / 1000;
    const CpuTime now = machine_cpu();
    const double capacity = seconds * cores();
    return summarize(findings_, {.seconds = seconds,
                                 .others = (now.busy - cpu_before_.busy - own_cpu()) / capacity,
                                 .stolen = (now.stolen - cpu_before_.stolen) / capacity});
  }

 private:
  Result<ServerProcess> server(const std::string& name, std::vector<std::string> options = {}) {
    return ServerProcess::start({.program = options_.program,
                                 .image = options_.image,
                                 .directory = scratch_ + "/" + name,
                                 .name = "bench-" + name + "-" + std::to_string(::getpid()),
                                 .options = std::move(options)});
  }

  // The size of an execution's answer: the null server's are as large.
  static Result<std::size_t> answer_size(ServerProcess& server) {
    Result<Client> client = Client::connect(server.port());
    if (!client) return std::move(client.error());
    Result<Answer> answer = client->expect(run_once(kTrivial.session));
    if (!answer) return std::move(answer.error());
    return answer->body.size();
  }

  Status open(Bodies& bodies, const ImageRoot& root) {
    const auto wants = [&](const char* part) { return options_.wants(part); };
    if (wants("P2") || wants("P5")) {
      Result<RawFork> raw = RawFork::start(root, "loaded");
      if (!raw) return std::move(raw.error());
      bodies.raw = std::move(*raw);
    }
    if (wants("P5")) {
      Result<RawFork> raw = RawFork::start(root, "bare");
      if (!raw) return std::move(raw.error());
      bodies.raw_bare = std::move(*raw);
    }
    if (wants("P1") || wants("P3") || wants("P5")) {
      Result<ServerProcess> warm = server("warm");
      if (!warm) return std::move(warm.error());
      bodies.warm = std::move(*warm);
      Result<std::size_t> size = answer_size(*bodies.warm);
      if (!size) return std::move(size.error());
      Result<NullServer> null = NullServer::start(*size);
      if (!null) return std::move(null.error());
      bodies.null = std::move(*null);
    }
    if (wants("P2")) {
      Result<ServerProcess> cold = server("cold", {"--pool", "0"});
      if (!cold) return std::move(cold.error());
      bodies.cold = std::move(*cold);
    }
    if (!options_.python.empty() && !fs::exists(options_.python)) {
      findings_.problems.push_back("no ipykernel and Kernel Gateway: " + options_.python +
                                   " is missing; ./dev bench makes it");
    } else if (!options_.python.empty() && (wants("P1") || wants("P3"))) {
      Result<Peers> peers = Peers::start(options_.python, options_.peers, options_.image + "/root");
      if (!peers) return std::move(peers.error());
      bodies.peers = std::move(*peers);
    }
    return ok();
  }

  Status rounds() {
    bool any = false;
    for (const char* part : {"P1", "P2", "P3", "P5"}) any = any || options_.wants(part);
    if (!any) return ok();
    say("starting servers and fork servers");
    const std::string point = scratch_ + "/root";
    fs::create_directory(point);
    Result<ImageRoot> found = image_root(options_.layer, options_.runtime, options_.image, point);
    if (!found) return std::move(found.error());
    const ImageRoot& root = *found;
    Bodies bodies{.root = root};
    if (Status s = open(bodies, root); !s) return s;
    for (std::size_t i = 0; i < options_.rounds; ++i) {
      say("round " + std::to_string(i + 1) + " of " + std::to_string(options_.rounds));
      if (Status s = run_round(options_, i, bodies, findings_.measured); !s) return s;
    }
    for (auto* one : {&bodies.warm, &bodies.cold})
      if (*one) stop(**one);
    return ok();
  }

  void stop(ServerProcess& server) {
    if (Status s = server.stop(); !s) findings_.problems.push_back(s.error().message);
  }

  Status alone(const char* part, Status (Bench::*measure)(ServerProcess&)) {
    say(part);
    std::vector<std::string> options;
    if (std::string(part) == "crowd")
      options = {"--capacity", std::to_string(options_.idle + options_.busy + 50)};
    Result<ServerProcess> one = server(part, options);
    if (!one) return std::move(one.error());
    if (Status s = (this->*measure)(*one); !s) return s;
    stop(*one);
    return ok();
  }

  Status alive(ServerProcess& server) {
    return keep(measure_alive(server, options_.alive), findings_.alive);
  }
  Status crowd(ServerProcess& server) {
    return keep(measure_crowd(server, options_), findings_.crowd);
  }
  Status leaks(ServerProcess& server) {
    findings_.leak_count = options_.leaks;
    return keep(measure_leaks(server, options_.leaks), findings_.leaks);
  }
  Status restarts(ServerProcess& server) {
    return keep(measure_restarts(server, options_.restarts), findings_.restarts);
  }

  template <class T>
  static Status keep(Result<T> found, std::optional<T>& out) {
    if (!found) return std::move(found.error());
    out = std::move(*found);
    return ok();
  }

  const Options& options_;
  std::string scratch_;
  Findings findings_;
  std::chrono::steady_clock::time_point started_;
  CpuTime cpu_before_;
};

int run(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--null")
    serve_null(3, std::strtoul(argv[2], nullptr, 10));
  Result<Options> options = parse_options(argc, argv);
  if (!options) return say(options.error().describe()), 2;
  if (options->help) return std::fputs(help_text().c_str(), stdout), 0;
  raise_descriptor_limit();
  end_children_on_signal();
  const Scratch scratch;
  if (scratch.path().empty()) return say("no directory for temporary files"), 1;
  ::chmod(scratch.path().c_str(), 0711);  // the front has a uid of its own
  Bench bench(*options, scratch.path());
  if (Status s = bench.run(); !s) return say(s.error().describe()), 1;
  const Report report = bench.report();
  std::fputs(report.table().c_str(), stdout);
  if (options->json.empty()) return 0;
  std::error_code problem;
  fs::create_directories(fs::path(options->json).parent_path(), problem);
  if (!(std::ofstream(options->json) << report.json())) return say("cannot write the JSON"), 1;
  return 0;
}

}  // namespace

}  // namespace vitrine::bench::server

int main(int argc, char** argv) { return vitrine::bench::server::run(argc, argv); }
