// SPDX-License-Identifier: Apache-2.0
// vitrine-keeper: reads its options and runs a Keeper.
#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "keeper/doctor.h"
#include "keeper/host.h"
#include "keeper/keeper.h"
#include "keeper/log.h"
#include "keeper/options.h"

namespace vitrine::keeper {

namespace {

int serve(Loop loop, const Options& options) {
  Keeper keeper(std::move(loop), options);
  Status started = prepare_process();
  if (started) started = keeper.start();
  if (started) return keeper.run();
  log_error(started.error().describe());
  return 1;
}

int run(int argc, char** argv) {
  Result<Options> options = parse_options(argc, argv);
  if (!options) {
    std::fprintf(stderr, "vitrine-keeper: %s\n", options.error().describe().c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  if (options->doctor) {
    const Diagnosis diagnosis = diagnose(*options);
    std::printf("%s\n", diagnosis.json.c_str());
    return diagnosis.full ? 0 : 1;
  }
  Result<Loop> loop = Loop::make();
  if (!loop) {
    std::fprintf(stderr, "vitrine-keeper: %s\n", loop.error().describe().c_str());
    return 1;
  }
  const int exit_code = serve(std::move(*loop), *options);
  if (options->ephemeral && !options->data.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(options->data, ignored);
  }
  return exit_code;
}

}  // namespace

}  // namespace vitrine::keeper

int main(int argc, char** argv) {
  try {
    return vitrine::keeper::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("vitrine-keeper: there is not enough memory; remedy: allow it more\n", stderr);
    return 1;
  }
}
