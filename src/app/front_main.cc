// SPDX-License-Identifier: Apache-2.0
// vitrine-front: reads its options and files, and runs the front that they describe.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>

#include "app/front.h"

namespace vitrine::app {

namespace {

// As the keeper places them; see keeper/front.h.
constexpr int kControl = 3;
constexpr int kListener = 4;
constexpr int kReady = 5;

int run(int argc, char** argv) {
  FrontOptions options;
  CLI::App app("vitrine-front: started by vitrine-keeper, not by people");
  app.add_option("--data", options.data)->required();
  app.add_option("--token-file", options.token_file);
  app.add_option("--tokens", options.tokens_file);
  app.add_option("--auth", options.auth)->check(CLI::IsMember({"auto", "token", "none"}));
  app.add_option("--host", options.hosts);
  app.add_option("--history", options.history)
      ->check(CLI::Range(settings::kHistory.least, settings::kHistory.most));
  app.add_option("--recordings-mb", options.recordings_mb)
      ->check(CLI::Range(settings::kRecordingsMb.least, settings::kRecordingsMb.most));
  app.add_option("--reward", options.reward);
  app.add_option("--policy", options.policy)
      ->check(CLI::IsMember({"native", "restricted", "smolagents"}));
  app.add_option("--packages", options.packages);
  app.add_option("--network", options.network)->check(CLI::IsMember({"on", "off"}));
  CLI11_PARSE(app, argc, argv);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::umask(077);
  for (int fd : {kControl, kListener, kReady}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  Result<std::string> rules = load_rules(options.reward);
  if (!rules) {
    log_line("error front: " + rules.error().describe());
    return kRefused;
  }
  Result<store::Store> store =
      store::Store::open(options.data, {.executions_per_session = options.history});
  if (!store) {
    log_line("error front: " + store.error().describe());
    return 1;
  }
  Result<packages::Config> packages = load_packages(options.packages);
  Result<packages::Layers> layers = packages::Layers::open(options.data + "/layers");
  for (const Error* error :
       {packages ? nullptr : &packages.error(), layers ? nullptr : &layers.error()})
    if (error != nullptr) {
      log_line("error front: " + error->describe());
      return 1;
    }
  // Never destroyed: coroutines that still wait would be unwound over a front that is gone.
  auto& context = *new boost::asio::io_context(1);
  FrontFds fds{Fd(kControl), Fd(kListener), Fd(kReady)};
  FrontParts parts{std::move(*store), std::move(*rules), std::move(*packages), std::move(*layers)};
  Front front(context, std::move(options), std::move(fds), std::move(parts));
  if (Status s = front.start(); !s) {
    log_line("error front: " + s.error().describe());
    return 1;
  }
  context.run();
  return front.exit_code();
}

}  // namespace

}  // namespace vitrine::app

int main(int argc, char** argv) { return vitrine::app::run(argc, argv); }
