// SPDX-License-Identifier: Apache-2.0
#include "server/summary.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace vitrine::bench::server {

namespace {

constexpr double kCreateOver = 0.7;     // ms above two null calls
constexpr double kCreateTail = 5;       // p99 to p50
constexpr double kBurstMost = 2;        // raw forks
constexpr double kExecOver = 0.1;       // ms above a null call
constexpr double kMemoryMost = 3;       // MiB
constexpr double kRateLeast = 0.6;      // of raw forks
constexpr double kBareRateLeast = 500;  // per second
constexpr double kCrowdMost = 20;       // ms, p99
constexpr double kFrontMost = 200;      // MiB
constexpr double kRestartMost = 1000;   // ms

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", part * 100);
  return text;
}

// Only what was measured.
void add(Report& report, Row row) {
  if (row.count > 0) report.rows.push_back(std::move(row));
}

void add_judged(Report& report, Row row, const char* target, bool reached) {
  add(report, with_target(std::move(row), target, reached));
}

Row row_of_all(std::string metric, std::string unit, const std::vector<double>& values) {
  Samples samples;
  for (double value : values) samples.add(0, value);
  return row_of(std::move(metric), std::move(unit), samples);
}

void add_creation(Report& report, const Measured& m) {
  if (m.created.count() == 0) return;
  add(report, row_of("two null calls", "ms", m.null_pair));
  const Row created = row_of("P1 create and first result", "ms", m.created, "2 nulls", m.null_pair);
  add(report, created);
  const Row over = row_of("P1   above two null calls", "ms", m.over_null_pair);
  add_judged(report, over, "<= 0.7 ms", over.p50 <= kCreateOver);
  const double tail = created.p99.value_or(0) / created.p50;
  add_judged(report, {.metric = "P1   p99 / p50", .unit = "x", .p50 = tail, .count = created.count},
             "<= 5x", tail <= kCreateTail);
  add(report, row_of("     of it: create", "ms", m.create));
  add(report, row_of("     of it: first execution", "ms", m.first_run));
  add(report, row_of("     end it: nothing left", "ms", m.ended));
}

void add_bursts(Report& report, const Measured& m) {
  const Row burst =
      row_of("P2 burst of 16, pool empty, each", "ms", m.burst, "raw fork", m.raw_burst);
  add_judged(report, burst, "<= 2x raw fork", burst.ratio.value_or(99) <= kBurstMost);
  add(report,
      row_of("     from the burst's start", "ms", m.burst_each, "raw fork", m.raw_burst_each));
}

void add_executions(Report& report, const Measured& m) {
  if (m.executed.count() == 0) return;
  add(report, row_of("null call", "ms", m.null_call));
  add(report, row_of("GET /health", "ms", m.health, "null", m.null_call));
  add(report, row_of("P3 one more execution (1+1)", "ms", m.executed, "null", m.null_call));
  const Row over = row_of("P3   above a null call", "ms", m.over_null);
  add_judged(report, over, "<= 0.1 ms", over.p50 <= kExecOver);
}

void add_alive(Report& report, const Alive& alive) {
  const auto mib = [&](std::string metric, double kib) {
    return Row{.metric = std::move(metric), .unit = "MiB", .p50 = kib / 1024, .count = alive.count};
  };
  const Row whole =
      mib("P4 idle session, " + std::to_string(alive.count) + " alive", alive.memory.whole());
  add_judged(report, whole, "<= 3 MiB", whole.p50 <= kMemoryMost);
  add(report, mib("     PSS of worker and init", alive.memory.pss));
  add(report, mib("     private dirty (part of PSS)", alive.memory.private_dirty));
  add(report, mib("     slab", alive.memory.slab));
  add(report, mib("     page tables", alive.memory.page_tables));
  add(report, mib("     kernel stacks", alive.memory.kernel_stacks));
  add(report, mib("     the front's own (besides)", alive.front));
  add(report, mib("     MemAvailable lost (cross-check)", alive.memory.available));
  add(report, {.metric = "     create them, one by one, each",
               .unit = "ms",
               .p50 = alive.create_ms,
               .count = alive.count});
}

void add_rates(Report& report, const Measured& m) {
  const Row loaded =
      row_of("P5 one-shots, numpy, 8 clients", "1/s", m.rate, "raw fork", m.raw_rate);
  add_judged(report, loaded, ">= 0.6x raw fork", loaded.ratio.value_or(0) >= kRateLeast);
  add(report, row_of("     each", "ms", m.rate_each));
  const Row bare =
      row_of("P5 one-shots, bare, 8 clients", "1/s", m.bare_rate, "raw fork", m.raw_bare_rate);
  add_judged(report, bare, ">= 500/s", bare.p50 >= kBareRateLeast);
  add(report, row_of("     each", "ms", m.bare_rate_each));
}

void add_crowd(Report& report, const Crowded& crowd) {
  const std::string name =
      "crowd of " + std::to_string(crowd.idle) + " idle, " + std::to_string(crowd.busy) + " busy";
  const Row woken = row_of_all(name + ": 1+1", "ms", crowd.woken);
  add_judged(report, woken, "p99 < 20 ms", woken.p99.value_or(999) < kCrowdMost);
  add(report, row_of_all("     the busy ones' executions", "ms", crowd.working));
  add(report, {.metric = "     executions of all", .unit = "1/s", .p50 = crowd.per_second});
  const Row rss{.metric = "     RSS of the front", .unit = "MiB", .p50 = crowd.front_rss / 1024};
  add_judged(report, rss, "< 200 MiB", rss.p50 < kFrontMost);
  add(report, {.metric = "     RSS of the keeper", .unit = "MiB", .p50 = crowd.keeper_rss / 1024});
}

void add_leaks(Report& report, const Holdings& left, std::size_t count) {
  const long sum =
      std::max({std::labs(left.processes), std::labs(left.descriptors), std::labs(left.mounts),
                std::labs(left.cgroups), std::labs(left.namespaces), std::labs(left.files)});
  add_judged(report,
             {.metric = "P9 left after create/run/destroy",
              .unit = "",
              .p50 = static_cast<double>(sum),
              .count = count},
             "0", sum == 0);
  if (sum != 0)
    report.notes.push_back(
        "P9 difference: " + std::to_string(left.processes) + " processes, " +
        std::to_string(left.descriptors) + " descriptors, " + std::to_string(left.mounts) +
        " mounts, " + std::to_string(left.cgroups) + " cgroups, " +
        std::to_string(left.namespaces) + " namespaces, " + std::to_string(left.files) + " files");
}

void add_restarts(Report& report, const Restarts& restarts) {
  if (!restarts.times.empty()) {
    const double worst = *std::ranges::max_element(restarts.times);
    add(report, row_of_all("front killed: to the next right answer", "ms", restarts.times));
    add_judged(
        report,
        {.metric = "     the slowest", .unit = "ms", .p50 = worst, .count = restarts.times.size()},
        "< 1000 ms", worst < kRestartMost);
  }
  add_judged(report,
             {.metric = "front killed: wrong answers after it",
              .unit = "",
              .p50 = static_cast<double>(restarts.wrong.size()),
              .count = restarts.count},
             "0", restarts.wrong.empty());
  for (const std::string& text : std::set(restarts.wrong.begin(), restarts.wrong.end()))
    report.notes.push_back("after a restart: " + text);
}

void add_peers(Report& report, const Measured& m) {
  const auto beside = [&](const char* peer, const char* metric, const char* name,
                          const Samples& ours) {
    const auto found = m.peers.find(peer);
    if (found != m.peers.end()) add(report, row_of(metric, "ms", found->second, name, ours));
  };
  beside("python3", "python3: started, imports done", "our create", m.created);
  beside("bubblewrap", "bubblewrap + python3: the same", "our create", m.created);
  beside("ipykernel first", "ipykernel: started, imports done", "our create", m.created);
  beside("gateway first", "Kernel Gateway: started, imports done", "our create", m.created);
  beside("ipykernel exec", "ipykernel: one more execution", "ours", m.executed);
  beside("gateway exec", "Kernel Gateway: one more execution", "ours", m.executed);
  if (const auto rss = m.peers.find("ipykernel rss"); rss != m.peers.end())
    add(report, row_of("ipykernel: RSS after the imports", "MiB", rss->second));
}

}  // namespace

Report summarize(const Findings& findings, const Noise& noise) {
  Report report;
  const Measured& m = findings.measured;
  add_creation(report, m);
  add_bursts(report, m);
  add_executions(report, m);
  if (findings.alive) add_alive(report, *findings.alive);
  add_rates(report, m);
  if (findings.leaks) add_leaks(report, *findings.leaks, findings.leak_count);
  if (findings.crowd) add_crowd(report, *findings.crowd);
  if (findings.restarts) add_restarts(report, *findings.restarts);
  add_peers(report, m);
  utsname system{};
  ::uname(&system);
  report.conditions = {{"machine", std::to_string(cores()) + " cores, Linux " + system.release},
                       {"time", std::to_string(static_cast<int>(noise.seconds)) + " s"},
                       {"other programs had", percent(noise.others) + " of the machine"},
                       {"stolen", percent(noise.stolen)}};
  for (const std::string& problem : m.problems) report.notes.push_back(problem);
  for (const std::string& problem : findings.problems) report.notes.push_back(problem);
  return report;
}

}  // namespace vitrine::bench::server
