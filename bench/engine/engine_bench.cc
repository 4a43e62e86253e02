// SPDX-License-Identifier: Apache-2.0
// first version
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include "engine/host.h"
#include "engine/report.h"
#include "engine/throughput.h"
using namespace vitrine;
using namespace vitrine::bench;
template <class T> T must(Result<T> r) { if (!r) { std::fprintf(stderr, "engine_bench: %s\n", r.error().describe().c_str()); std::exit(1);} return std::move(*r);} 
void must(Status s) { if (!s) { std::fprintf(stderr, "engine_bench: %s\n", s.error().describe().c_str()); std::exit(1);} }
int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 3;
  const int per = argc > 2 ? atoi(argv[2]) : 20;
  const std::string here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string image = std::filesystem::canonical(here + "/../../image");
  char dir[] = "/tmp/vitrine-bench.XXXXXX"; if (!mkdtemp(dir)) return 1;
  const std::string d = dir; std::filesystem::create_directory(d + "/root");
  ImageRoot root{{here + "/../bench/layer", here + "/../runtime", image + "/root"}, d + "/root"};
  auto raw = must(RawFork::start(root, "loaded"));
  auto rawbare = must(RawFork::start(root, "bare"));
  const std::string tag = std::to_string(getpid());
  auto warm = must(KeeperProcess::start({here + "/vitrine-keeper", image, d + "/warm", "bench-warm-" + tag, {}}));
  auto cold = must(KeeperProcess::start({here + "/vitrine-keeper", image, d + "/cold", "bench-cold-" + tag, {"--pool", "0", "--shells", "20"}}));
  auto m = memory_of(raw.pid()); std::printf("raw zygote rss %.0f huge %.0f\n", m.rss, m.huge);
  Samples raw_result, raw_cycle, cold_result, cold_opened, warm_result, warm_opened, ended, exec, rburst, burst, rburst1, burst1, rrate, rate, crate, rbrate, brate;
  for (int r = 0; r < rounds; ++r) {
    auto R = (size_t)r;
    for (int i = 0; i < per; ++i) {
      auto t = must(time_raw_fork(raw, kTrivial)); raw_result.add(R, t.result); raw_cycle.add(R, t.cycle);
      must(cold.settle()); std::this_thread::sleep_for(std::chrono::milliseconds(30));
      auto c = must(time_create(cold, {}, kTrivial)); cold_result.add(R, c.result); cold_opened.add(R, c.opened);
      must(cold.settle()); std::this_thread::sleep_for(std::chrono::milliseconds(30));
      auto w = must(time_create(warm, {}, kTrivial)); if (w.source != Source::warm) { puts("not warm"); } warm_result.add(R, w.result); warm_opened.add(R, w.opened); ended.add(R, w.ended);
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      must(warm.settle());
    }
    for (double t : must(time_executions(warm, kTrivial, 200))) exec.add(R, t);
    for (int i = 0; i < 3; ++i) {
      auto a = must(time_raw_burst(raw, kTrivial, 16)); rburst1.add(R, a.whole / 16); for (double x : a.each) rburst.add(R, x);
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      must(cold.settle());
      auto b = must(time_burst(cold, {}, kTrivial, 16)); burst1.add(R, b.whole / 16); for (double x : b.each) burst.add(R, x);
      must(cold.settle());
    }
    using namespace std::chrono_literals;
    rrate.add(R, must(rate_of_raw_forks(raw, kNumpy, 1000ms)).per_second);
    rate.add(R, must(rate_of_one_shots(warm, {.lifetime = Lifetime::one_shot}, kNumpy, 1000ms)).per_second);
    crate.add(R, must(rate_of_one_shots(cold, {.lifetime = Lifetime::one_shot}, kNumpy, 1000ms)).per_second);
    rbrate.add(R, must(rate_of_raw_forks(rawbare, kBare, 1000ms)).per_second);
    brate.add(R, must(rate_of_one_shots(cold, {.variant = Variant::bare, .lifetime = Lifetime::one_shot}, kBare, 1000ms)).per_second);
    std::fprintf(stderr, "round %d\n", r);
  }
  Report report;
  report.rows = {row_of("raw fork to result", "ms", raw_result), row_of("raw fork cycle", "ms", raw_cycle),
    row_of("cold create to result", "ms", cold_result, "raw fork", raw_result), row_of("  opened", "ms", cold_opened),
    row_of("warm create to result", "ms", warm_result, "raw fork", raw_result), row_of("  opened", "ms", warm_opened), row_of("  end", "ms", ended),
    row_of("exec", "ms", exec), row_of("burst each", "ms", burst, "raw burst", rburst), row_of("burst per create", "ms", burst1, "raw burst", rburst1),
    row_of("one-shots/s loaded, default pool", "1/s", rate, "raw", rrate), row_of("one-shots/s loaded, pool 0", "1/s", crate, "raw", rrate), row_of("one-shots/s bare", "1/s", brate, "raw bare", rbrate)};
  std::fputs(report.table().c_str(), stdout);
  must(warm.stop()); must(cold.stop());
}
