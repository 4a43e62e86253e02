// SPDX-License-Identifier: Apache-2.0
#include "engine/summary.h"

#include <sys/utsname.h>

#include <cstdio>

namespace vitrine::bench {

namespace {

constexpr double kWarmMost = 0.4;       // ms
constexpr double kWarmTail = 5;         // p99 to p50
constexpr double kBurstMost = 2;        // raw forks
constexpr double kExecMost = 0.05;      // ms
constexpr double kRateLeast = 0.6;      // of raw forks
constexpr double kBareRateLeast = 500;  // per second
constexpr double kMemoryMost = 3;       // MiB
constexpr std::size_t kMemoryCount = 500;

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", part * 100);
  return text;
}

void add_latency(Report& report, const Measured& m) {
  auto& rows = report.rows;
  rows.push_back(row_of("raw fork to result", "ms", m.raw_result));
  rows.push_back(row_of("raw fork, result and reaped", "ms", m.raw_cycle));
  Row warm = row_of("warm create to first result", "ms", m.warm, "raw fork", m.raw_result);
  const double tail = warm.p99.value_or(0) / warm.p50;
  rows.push_back(with_target(warm, "<= 0.4 ms", warm.p50 <= kWarmMost));
  rows.push_back(with_target({.metric = "  its p99 / p50", .unit = "x", .p50 = tail}, "<= 5x",
                             tail <= kWarmTail));
  rows.push_back(row_of("  of it: the keeper's answer", "ms", m.warm_opened));
  rows.push_back(row_of("end: nothing left", "ms", m.ended));
  rows.push_back(row_of("cold create to first result", "ms", m.cold, "raw fork", m.raw_result));
  rows.push_back(row_of("  of it: the keeper's answer", "ms", m.cold_opened));
  Row burst = row_of("cold burst of 16, per create", "ms", m.burst, "raw burst", m.raw_burst);
  rows.push_back(with_target(burst, "<= 2x raw fork", burst.ratio.value_or(99) <= kBurstMost));
  rows.push_back(
      row_of("  each, from the burst's start", "ms", m.burst_each, "raw burst", m.raw_burst_each));
  Row exec = row_of("one more execution (1+1)", "ms", m.executed);
  rows.push_back(with_target(exec, "<= 0.05 ms", exec.p50 <= kExecMost));
}

void add_rates(Report& report, const Measured& m) {
  auto& rows = report.rows;
  Row loaded = row_of("one-shots, loaded, 8 at once", "1/s", m.rate, "raw fork", m.raw_rate);
  rows.push_back(with_target(loaded, ">= 0.6x raw fork", loaded.ratio.value_or(0) >= kRateLeast));
  Row bare = row_of("one-shots, bare, 8 at once", "1/s", m.bare_rate, "raw fork", m.raw_bare_rate);
  rows.push_back(with_target(bare, ">= 500/s", bare.p50 >= kBareRateLeast));
  rows.push_back(row_of("CPU of a loaded one-shot", "ms", m.cpu, "raw fork", m.raw_cpu));
  rows.push_back(row_of("CPU of a bare one-shot", "ms", m.bare_cpu, "raw fork", m.raw_bare_cpu));
  rows.push_back(
      row_of("page faults to a cold first result", "", m.cold_faults, "raw fork", m.raw_faults));
  rows.push_back(
      row_of("page faults to a warm first result", "", m.warm_faults, "raw fork", m.raw_faults));
}

void add_crowd(Report& report, const Crowded& crowd) {
  auto& rows = report.rows;
  const std::string alive = std::to_string(crowd.count) + " alive";
  const auto mib = [&](std::string metric, double kib) {
    rows.push_back(
        {.metric = std::move(metric), .unit = "MiB", .p50 = kib / 1024, .count = crowd.count});
  };
  mib("idle loaded session, " + alive, crowd.memory.whole());
  if (crowd.count == kMemoryCount)
    rows.back() = with_target(rows.back(), "<= 3 MiB", rows.back().p50 <= kMemoryMost);
  mib("  PSS of worker and init", crowd.memory.pss);
  mib("  private dirty (part of PSS)", crowd.memory.private_dirty);
  mib("  slab", crowd.memory.slab);
  mib("  page tables", crowd.memory.page_tables);
  mib("  kernel stacks", crowd.memory.kernel_stacks);
  mib("  MemAvailable lost (cross-check)", crowd.memory.available);
  rows.push_back({.metric = "create them, one after another, each",
                  .unit = "ms",
                  .p50 = crowd.create_ms,
                  .count = crowd.count});
  rows.push_back(
      {.metric = "end them all", .unit = "s", .p50 = crowd.teardown_s, .count = crowd.count});
}

std::string list(const Holdings& left) {
  return std::to_string(left.processes) + " processes, " + std::to_string(left.descriptors) +
         " descriptors, " + std::to_string(left.mounts) + " mounts, " +
         std::to_string(left.cgroups) + " cgroups, " + std::to_string(left.namespaces) +
         " namespaces, " + std::to_string(left.files) + " files";
}

double sum(const Holdings& left) {
  return static_cast<double>(left.processes + left.descriptors + left.mounts + left.cgroups +
                             left.namespaces + left.files);
}

void add_left(Report& report, const std::string& metric, const Holdings& left, std::size_t count) {
  const Row row{.metric = metric, .unit = "", .p50 = sum(left), .count = count};
  report.rows.push_back(with_target(row, "0", sum(left) == 0));
  if (sum(left) != 0) report.notes.push_back(metric + ": " + list(left));
}

void add_peers(Report& report, const Measured& m) {
  const auto beside = [&](const char* peer, const char* metric, const char* unit, const char* name,
                          const Samples& ours) {
    const auto found = m.peers.find(peer);
    if (found != m.peers.end())
      report.rows.push_back(row_of(metric, unit, found->second, name, ours));
  };
  beside("python3", "python3 + imports, run, exit", "ms", "our warm create", m.warm);
  beside("bubblewrap", "bubblewrap + python3 + imports", "ms", "our warm create", m.warm);
  beside("sandlock run", "sandlock + python3 + imports", "ms", "our warm create", m.warm);
  beside("ipykernel ready", "ipykernel: ready", "ms", "our warm create", m.warm);
  beside("ipykernel first", "ipykernel: ready and imports done", "ms", "our warm create", m.warm);
  beside("ipykernel exec", "ipykernel: one more execution", "ms", "our execution", m.executed);
  const auto rss = m.peers.find("ipykernel rss");
  if (rss != m.peers.end())
    report.rows.push_back(row_of("ipykernel: RSS after the imports", "MiB", rss->second));
}

}  // namespace

Report summarize(const Findings& findings, const Noise& noise) {
  Report report;
  const Measured& m = findings.measured;
  add_latency(report, m);
  add_rates(report, m);
  for (const Crowded& crowd : findings.crowds) {
    add_crowd(report, crowd);
    add_left(report, "left after ending " + std::to_string(crowd.count), crowd.left, crowd.count);
  }
  if (findings.leaks)
    add_left(report, "left after create/run/destroy", *findings.leaks, findings.leak_count);
  if (findings.leaks && findings.after_stop != 0)
    report.notes.push_back("cgroups left by a keeper that ended: " +
                           std::to_string(findings.after_stop));
  add_peers(report, m);

  utsname system{};
  ::uname(&system);
  report.conditions = {
      {"machine", std::to_string(cores()) + " cores, Linux " + system.release},
      {"time", std::to_string(static_cast<int>(noise.seconds)) + " s"},
      {"other programs had", percent(noise.others) + " of the machine"},
      {"stolen", percent(noise.stolen)},
      {"fork server", std::to_string(static_cast<int>(findings.zygote.rss / 1024)) + " MiB RSS, " +
                          std::to_string(static_cast<int>(findings.zygote.huge / 1024)) +
                          " of it in huge pages"}};
  if (m.not_warm > 0)
    report.notes.push_back(std::to_string(m.not_warm) + " warm creations found no worker waiting");
  for (const std::string& problem : m.problems) report.notes.push_back(problem);
  for (const std::string& problem : findings.problems) report.notes.push_back(problem);
  return report;
}

}  // namespace vitrine::bench
