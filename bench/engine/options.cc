// SPDX-License-Identifier: Apache-2.0
#include "engine/options.h"

#include <charconv>
#include <filesystem>

namespace vitrine::bench {

namespace {

namespace fs = std::filesystem;

template <class T>
Status number(const std::string& name, const std::string& text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc{} && end == text.data() + text.size() && out >= 0) return ok();
  return Error{.code = Code::invalid_argument,
               .message = name + " " + text + " is not a number",
               .remedy = "see --help"};
}

Status set(Options& options, const std::string& name, const std::string& value) {
  if (name == "--keeper") return options.keeper = value, ok();
  if (name == "--image") return options.image = value, ok();
  if (name == "--json") return options.json = value, ok();
  if (name == "--python") return options.python = value == "none" ? "" : value, ok();
  if (name == "--peers") return options.peers = value, ok();
  if (name == "--rounds") return number(name, value, options.rounds);
  if (name == "--creates") return number(name, value, options.creates);
  if (name == "--alive") return number(name, value, options.alive);
  if (name == "--crowd") return number(name, value, options.crowd);
  if (name == "--only") return options.only = value, ok();
  if (name == "--rate-ms") {
    int milliseconds = 0;
    Status done = number(name, value, milliseconds);
    options.rate_time = std::chrono::milliseconds(milliseconds);
    return done;
  }
  if (name == "--leaks") return number(name, value, options.leaks);
  return Error{.code = Code::invalid_argument,
               .message = "there is no option " + name,
               .remedy = "see --help"};
}

void be_quick(Options& options) {
  options.rounds = 3;
  options.creates = 12;
  options.executions = 200;
  options.bursts = 1;
  options.rate_time = std::chrono::milliseconds(700);
  options.leaks = 200;
}

void be_thorough(Options& options) {
  options.rounds = 15;
  options.rate_time = std::chrono::milliseconds(3000);
  options.crowd = 2000;
  options.leaks = 10'000;
}

}  // namespace

Result<Options> parse_options(int argc, char** argv) {
  Options options;
  std::error_code unreadable;
  const fs::path bin = fs::read_symlink("/proc/self/exe", unreadable).parent_path();
  const fs::path build = bin.parent_path();
  options.keeper = bin / "vitrine-keeper";
  options.image = build.parent_path() / "image";
  options.runtime = build / "runtime";
  options.layer = build / "bench" / "layer";
  const fs::path root = build.parent_path().parent_path();
  options.python = root / "build" / "venv" / "bin" / "python";
  options.peers = root / "bench" / "engine" / "peers.py";
  options.json = root / "build" / "bench" / "engine.json";
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      options.help = true;
      return options;
    }
    if (name == "--quick") {
      be_quick(options);
      continue;
    }
    if (name == "--long") {
      be_thorough(options);
      continue;
    }
    if (++i == argc)
      return Error{.code = Code::invalid_argument,
                   .message = name + " has no value",
                   .remedy = "see --help"};
    if (Status s = set(options, name, argv[i]); !s) return std::move(s.error());
  }
  return options;
}

std::string help_text() {
  return R"(engine_bench - measures the engine, compared with a raw fork and the peers

usage: engine_bench [--quick | --long] [options]

  --quick         about a minute; --long: about half an hour, 2,000 alive, 10,000 one-shots
  --rounds N      rounds of everything, interleaved [5]
  --creates N     cold and warm creations in each round [30]
  --alive N       sessions alive at once, for memory and teardown; 0 = skip [500]
  --crowd N       measure the same again with N sessions [0]
  --leaks N       create/run/destroy before counting what is left; 0 = skip [1000]
  --only NAME     measure only this, for a profiler: raw-fork, cold, warm, faults, exec, burst,
                  raw-rate, rate, raw-bare-rate, bare-rate, peers
  --rate-ms N     how long each rate is measured [1500]
  --json FILE     also write the numbers to FILE [build/bench/engine.json]
  --python FILE   a Python with ipykernel, jupyter_client and sandlock; none = skip these
                  [build/venv/bin/python]
  --peers FILE    the script that measures those [bench/engine/peers.py]
  --keeper FILE   vitrine-keeper [beside this program]
  --image DIR     the runtime image [beside the build]

It starts its own keepers and ends them. docs/engine.md explains every row.
)";
}

}  // namespace vitrine::bench
