// SPDX-License-Identifier: Apache-2.0
#include "server/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <sstream>

namespace vitrine::bench::server {

namespace {

namespace fs = std::filesystem;

constexpr std::array kParts{"P1", "P2", "P3", "P4", "P5", "P9", "crowd", "restart"};

Error wrong(const std::string& message) {
  return Error{.code = Code::invalid_argument, .message = message, .remedy = "see --help"};
}

template <class T>
Status number(const std::string& name, const std::string& text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc{} && end == text.data() + text.size() && out >= 0) return ok();
  return wrong(name + " " + text + " is not a number");
}

Status choose(const std::string& list, std::set<std::string>& out) {
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (std::ranges::find(kParts, word) == kParts.end()) return wrong("there is no part " + word);
    out.insert(word);
  }
  return ok();
}

Status set(Options& options, const std::string& name, const std::string& value) {
  if (name == "--program") return options.program = value, ok();
  if (name == "--image") return options.image = value, ok();
  if (name == "--json") return options.json = value, ok();
  if (name == "--python") return options.python = value == "none" ? "" : value, ok();
  if (name == "--rounds") return number(name, value, options.rounds);
  if (name == "--creates") return number(name, value, options.creates);
  if (name == "--executions") return number(name, value, options.executions);
  if (name == "--alive") return number(name, value, options.alive);
  if (name == "--leaks") return number(name, value, options.leaks);
  if (name == "--only") return choose(value, options.only);
  return wrong("there is no option " + name);
}

void be_quick(Options& options) {
  options.rounds = 3;
  options.creates = 15;
  options.executions = 200;
  options.bursts = 1;
  options.rate_time = std::chrono::milliseconds(700);
  options.crowd_time = std::chrono::milliseconds(4000);
  options.restarts = 3;
  options.leaks = 500;
}

void be_thorough(Options& options) {
  options.rounds = 15;
  options.creates = 60;
  options.rate_time = std::chrono::milliseconds(3000);
  options.crowd_time = std::chrono::milliseconds(60'000);
  options.restarts = 20;
  options.leaks = 10'000;
}

}  // namespace

Result<Options> parse_options(int argc, char** argv) {
  Options options;
  std::error_code unreadable;
  const fs::path bin = fs::read_symlink("/proc/self/exe", unreadable).parent_path();
  const fs::path build = bin.parent_path();
  const fs::path root = build.parent_path().parent_path();
  options.program = bin / "vitrine";
  options.image = build.parent_path() / "image";
  options.runtime = build / "runtime";
  options.layer = build / "bench" / "layer";
  options.python = root / "build" / "bench" / "venv" / "bin" / "python";
  options.peers = root / "bench" / "engine" / "peers.py";
  options.json = root / "build" / "bench" / "server.json";
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
    if (++i == argc) return wrong(name + " has no value");
    if (Status s = set(options, name, argv[i]); !s) return std::move(s.error());
  }
  return options;
}

std::string help_text() {
  return R"(server_bench - measures the server through HTTP, compared with a null server and the peers

usage: server_bench [--quick | --long] [options]

  --quick          about two minutes; --long: about half an hour, 10,000 create/run/destroy
  --only LIST      some of P1,P2,P3,P4,P5,P9,crowd,restart; the JSON then has only these
  --json FILE      also write the numbers to FILE [build/bench/server.json]
  --rounds N       rounds of everything, interleaved [5]
  --creates N      sessions created in each round [30]
  --executions N   executions in each round [300]
  --alive N        sessions whose memory is measured [500]
  --leaks N        create/run/destroy before counting what is left [2000]
  --python FILE    a Python with ipykernel and Kernel Gateway; none = skip these
                   [build/venv/bin/python]
  --program FILE   vitrine [beside this program]
  --image DIR      the runtime image [beside the build]

It starts its own servers and ends them. docs/server-numbers.md explains every row.
)";
}

}  // namespace vitrine::bench::server
