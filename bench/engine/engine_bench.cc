// SPDX-License-Identifier: Apache-2.0
// engine_bench: starts what is to be measured, runs the rounds, prints the table.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "engine/crowd.h"
#include "engine/host.h"
#include "engine/options.h"
#include "engine/rounds.h"
#include "engine/scratch.h"
#include "engine/summary.h"

namespace vitrine::bench {

namespace {

namespace fs = std::filesystem;

void say(const std::string& text) { std::fprintf(stderr, "bench: %s\n", text.c_str()); }

void raise_descriptor_limit() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

class Bench {
 public:
  Bench(const Options& options, std::string scratch)
      : options_(options), scratch_(std::move(scratch)) {}

  Status run() {
    started_ = control::Clock::now();
    cpu_before_ = machine_cpu();
    if (Status s = rounds(); !s) return s;
    if (!options_.only.empty()) return ok();
    for (std::size_t count : {options_.alive, options_.crowd})
      if (count > 0)
        if (Status s = crowd(count); !s) return std::move(s.error()).during("many at once");
    if (options_.leaks > 0)
      if (Status s = leaks(); !s) return std::move(s.error()).during("leaks");
    return ok();
  }

  // Call when everything has been stopped: only then is all of our own CPU time known.
  Report report() const {
    const double seconds = milliseconds_since(started_) / 1000;
    const CpuTime now = machine_cpu();
    const double capacity = seconds * cores();
    const double others = now.busy - cpu_before_.busy - own_cpu();
    return summarize(findings_, {.seconds = seconds,
                                 .others = others / capacity,
                                 .stolen = (now.stolen - cpu_before_.stolen) / capacity});
  }

 private:
  Result<KeeperProcess> keeper(const std::string& name, std::vector<std::string> options) {
    return KeeperProcess::start({.program = options_.keeper,
                                 .image = options_.image,
                                 .directory = scratch_ + "/" + name,
                                 .name = "bench-" + name + "-" + std::to_string(::getpid()),
                                 .options = std::move(options)});
  }

  Status rounds() {
    say("starting fork servers and keepers");
    const std::string point = scratch_ + "/root";
    fs::create_directory(point);
    Result<ImageRoot> found = image_root(options_.layer, options_.runtime, options_.image, point);
    if (!found) return std::move(found.error());
    const ImageRoot& root = *found;
    Result<RawFork> raw = RawFork::start(root, "loaded");
    if (!raw) return std::move(raw.error());
    Result<RawFork> raw_bare = RawFork::start(root, "bare");
    if (!raw_bare) return std::move(raw_bare.error());
    Result<KeeperProcess> warm = keeper("warm", {});
    if (!warm) return std::move(warm.error());
    Result<KeeperProcess> cold =
        keeper("cold", {"--pool", "0", "--shells", std::to_string(kBurst + 4)});
    if (!cold) return std::move(cold.error());
    Bodies bodies{.raw = std::move(*raw),
                  .raw_bare = std::move(*raw_bare),
                  .warm = std::move(*warm),
                  .cold = std::move(*cold),
                  .peers = {},
                  .root = root};
    if (!options_.python.empty() && !fs::exists(options_.python)) {
      findings_.problems.push_back("no ipykernel and sandlock: " + options_.python +
                                   " is missing; ./dev setup makes it");
    } else if (!options_.python.empty()) {
      Result<Peers> peers = Peers::start(options_.python, options_.peers, options_.image + "/root");
      if (!peers) return std::move(peers.error());
      bodies.peers = std::move(*peers);
    }
    findings_.zygote = memory_of(bodies.raw.pid());
    for (std::size_t i = 0; i < options_.rounds; ++i) {
      say("round " + std::to_string(i + 1) + " of " + std::to_string(options_.rounds));
      if (Status s = run_round(options_, i, bodies, findings_.measured); !s) return s;
    }
    if (Status s = bodies.warm.stop(); !s) findings_.problems.push_back(s.error().message);
    if (Status s = bodies.cold.stop(); !s) findings_.problems.push_back(s.error().message);
    return ok();
  }

  Status crowd(std::size_t count) {
    say(std::to_string(count) + " sessions at once");
    Result<KeeperProcess> crowded = keeper("crowd", {"--capacity", std::to_string(count + 10)});
    if (!crowded) return std::move(crowded.error());
    Crowd sessions(*crowded);
    Crowded result{.count = count};
    Result<double> grown = sessions.grow(count);
    if (!grown) return std::move(grown.error());
    result.create_ms = *grown / static_cast<double>(count);
    Result<CrowdMemory> memory = sessions.measure();
    if (!memory) return std::move(memory.error());
    result.memory = *memory;
    Result<double> ended = sessions.end_all();
    if (!ended) return std::move(ended.error());
    result.teardown_s = *ended;
    Result<Holdings> left = sessions.left_behind();
    if (!left) return std::move(left.error());
    result.left = *left;
    findings_.crowds.push_back(result);
    if (Status s = crowded->stop(); !s) findings_.problems.push_back(s.error().message);
    return ok();
  }

  Status leaks() {
    say(std::to_string(options_.leaks) + " times create, run, destroy");
    // As many recycled shells as one-shots at once: soon there are no more to come.
    Result<KeeperProcess> leaking =
        keeper("leaks", {"--pool", "0", "--recycled", std::to_string(kConcurrent)});
    if (!leaking) return std::move(leaking.error());
    Result<Holdings> left = leaks_after(*leaking, options_.leaks);
    if (!left) return std::move(left.error());
    findings_.leak_count = options_.leaks;
    findings_.leaks = *left;
    if (Status s = leaking->stop(); !s) findings_.problems.push_back(s.error().message);
    findings_.after_stop = cgroups_named(leaking->name());
    return ok();
  }

  const Options& options_;
  std::string scratch_;
  Findings findings_;
  control::Clock::time_point started_;
  CpuTime cpu_before_;
};

int run(int argc, char** argv) {
  Result<Options> options = parse_options(argc, argv);
  if (!options) return say(options.error().describe()), 2;
  if (options->help) return std::fputs(help_text().c_str(), stdout), 0;
  raise_descriptor_limit();
  const Scratch scratch;
  if (scratch.path().empty()) return say("no directory for temporary files"), 1;
  Bench bench(*options, scratch.path());
  if (Status s = bench.run(); !s) return say(s.error().describe()), 1;
  const Report report = bench.report();
  std::fputs(report.table().c_str(), stdout);
  if (!options->only.empty()) return 0;
  std::error_code problem;
  fs::create_directories(fs::path(options->json).parent_path(), problem);
  if (!(std::ofstream(options->json) << report.json())) return say("cannot write the JSON"), 1;
  return 0;
}

}  // namespace

}  // namespace vitrine::bench

int main(int argc, char** argv) { return vitrine::bench::run(argc, argv); }
