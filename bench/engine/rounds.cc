// SPDX-License-Identifier: Apache-2.0
#include "engine/rounds.h"

#include <thread>

#include "engine/faults.h"
#include "engine/host.h"

namespace vitrine::bench {

namespace {

using std::chrono::milliseconds;

// Longer than the pause after which a keeper refills its pools: none does while another works.
constexpr milliseconds kPause{25};

const wire::Create kSession{.variant = Variant::loaded};
const wire::Create kLoadedShot{.variant = Variant::loaded, .lifetime = Lifetime::one_shot};
const wire::Create kBareShot{.variant = Variant::bare, .lifetime = Lifetime::one_shot};

class Round {
 public:
  Round(const Options& options, std::size_t round, Bodies& bodies, Measured& measured)
      : options_(options), round_(round), bodies_(bodies), out_(measured) {}

  Status run() {
    for (int i = 0; i < options_.creates; ++i)
      for (const Step& step :
           {Step{"raw-fork", &Round::raw_fork}, {"cold", &Round::cold}, {"warm", &Round::warm}})
        if (Status s = take(step); !s) return s;
    for (const Step& step : {Step{"faults", &Round::faults}, {"exec", &Round::executions}})
      if (Status s = take(step); !s) return s;
    for (int i = 0; i < options_.bursts; ++i)
      if (Status s = take({"burst", &Round::burst}); !s) return s;
    for (const Step& step : {Step{"raw-rate", &Round::raw_rate},
                             {"rate", &Round::rate},
                             {"raw-bare-rate", &Round::raw_bare_rate},
                             {"bare-rate", &Round::bare_rate},
                             {"peers", &Round::peers}})
      if (Status s = take(step); !s) return s;
    return ok();
  }

 private:
  struct Step {
    const char* name;
    Status (Round::*measure)();
  };

  // Each begins when nothing else is going on.
  Status take(const Step& step) {
    if (!options_.only.empty() && options_.only != step.name) return ok();
    Status done = calm();
    if (done) done = (this->*step.measure)();
    return done ? ok() : std::move(done.error()).during(step.name);
  }

  Status calm() {
    std::this_thread::sleep_for(kPause);
    if (Status s = bodies_.warm.settle(); !s) return s;
    return bodies_.cold.settle();
  }

  Status raw_fork() {
    Result<RawTimes> times = time_raw_fork(bodies_.raw, kTrivial);
    if (!times) return std::move(times.error());
    out_.raw_result.add(round_, times->result);
    out_.raw_cycle.add(round_, times->cycle);
    return ok();
  }

  Status cold() {
    Result<CreateTimes> times = time_create(bodies_.cold, kSession, kTrivial);
    if (!times) return std::move(times.error());
    out_.cold.add(round_, times->result);
    out_.cold_opened.add(round_, times->opened);
    return ok();
  }

  Status warm() {
    Result<CreateTimes> times = time_create(bodies_.warm, kSession, kTrivial);
    if (!times) return std::move(times.error());
    if (times->source != Source::warm) return ++out_.not_warm, ok();
    out_.warm.add(round_, times->result);
    out_.warm_opened.add(round_, times->opened);
    out_.ended.add(round_, times->ended);
    return ok();
  }

  Status faults() {
    Result<double> raw = faults_of_raw_fork(bodies_.raw);
    if (!raw) return std::move(raw.error());
    Result<double> cold = faults_of_session(bodies_.cold, kSession);
    if (!cold) return std::move(cold.error());
    Result<double> warm = faults_of_session(bodies_.warm, kSession);
    if (!warm) return std::move(warm.error());
    out_.raw_faults.add(round_, *raw);
    out_.cold_faults.add(round_, *cold);
    out_.warm_faults.add(round_, *warm);
    return ok();
  }

  Status executions() {
    Result<std::vector<double>> times =
        time_executions(bodies_.warm, kTrivial, options_.executions);
    if (!times) return std::move(times.error());
    for (double time : *times) out_.executed.add(round_, time);
    return ok();
  }

  Status burst() {
    Result<BurstTimes> raw = time_raw_burst(bodies_.raw, kTrivial, kBurst);
    if (!raw) return std::move(raw.error());
    if (Status s = calm(); !s) return s;
    Result<BurstTimes> ours = time_burst(bodies_.cold, kSession, kTrivial, kBurst);
    if (!ours) return std::move(ours.error());
    for (double time : raw->each) out_.raw_burst_each.add(round_, time);
    for (double time : ours->each) out_.burst_each.add(round_, time);
    out_.raw_burst.add(round_, raw->whole / kBurst);
    out_.burst.add(round_, ours->whole / kBurst);
    return ok();
  }

  Status raw_rate() { return raw_forks(bodies_.raw, kNumpy, out_.raw_rate, out_.raw_cpu); }
  Status rate() { return one_shots(kLoadedShot, kNumpy, out_.rate, out_.cpu); }
  Status raw_bare_rate() {
    return raw_forks(bodies_.raw_bare, kBare, out_.raw_bare_rate, out_.raw_bare_cpu);
  }
  Status bare_rate() { return one_shots(kBareShot, kBare, out_.bare_rate, out_.bare_cpu); }

  Status raw_forks(RawFork& server, const Cell& cell, Samples& rates, Samples& cpu) {
    const double before = cpu_of_tree(server.pid());
    Result<Rate> rate = rate_of_raw_forks(server, cell, options_.rate_time);
    if (!rate) return std::move(rate.error());
    rates.add(round_, rate->per_second);
    cpu.add(round_, cpu_each(cpu_of_tree(server.pid()) - before, *rate));
    return ok();
  }

  Status one_shots(const wire::Create& request, const Cell& cell, Samples& rates, Samples& cpu) {
    const double before = cpu_of_tree(bodies_.warm.pid());
    Result<Rate> rate = rate_of_one_shots(bodies_.warm, request, cell, options_.rate_time);
    if (!rate) return std::move(rate.error());
    rates.add(round_, rate->per_second);
    cpu.add(round_, cpu_each(cpu_of_tree(bodies_.warm.pid()) - before, *rate));
    return ok();
  }

  static double cpu_each(double seconds, const Rate& rate) {
    return seconds * 1000 / static_cast<double>(rate.count);
  }

  Status peers() {
    programs();
    return bodies_.peers ? python_peers() : ok();
  }

  void programs() {
    if (Result<double> time = time_fresh_python(bodies_.root); time)
      out_.peers["python3"].add(round_, *time);
    else out_.problems.insert(time.error().message);
    if (Result<double> time = time_bubblewrap(bodies_.root.layers.back()); time)
      out_.peers["bubblewrap"].add(round_, *time);
    else out_.problems.insert(time.error().message);
  }

  Status python_peers() {
    for (const char* name : {"ipykernel", "sandlock"}) {
      Result<Peers::Values> values = bodies_.peers->measure(name);
      if (!values && values.error().code == Code::unavailable) return std::move(values.error());
      if (!values) {
        out_.problems.insert(values.error().message);
        continue;
      }
      for (const auto& [metric, all] : *values)
        for (double value : all) out_.peers[std::string(name) + " " + metric].add(round_, value);
    }
    return ok();
  }

  const Options& options_;
  std::size_t round_;
  Bodies& bodies_;
  Measured& out_;
};

}  // namespace

Status run_round(const Options& options, std::size_t round, Bodies& bodies, Measured& measured) {
  return Round(options, round, bodies, measured).run();
}

}  // namespace vitrine::bench
