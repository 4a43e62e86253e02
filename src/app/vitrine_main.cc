// SPDX-License-Identifier: Apache-2.0
// vitrine: the command line. Parses, and hands over to one function per command.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/commands.h"
#include "app/serve_settings.h"
#include "app/version.h"

namespace vitrine::app {

int refuse(const Error& error, int exit_code) {
  std::fprintf(stderr, "vitrine: %s\n", error.message.c_str());
  if (!error.remedy.empty()) std::fprintf(stderr, "  remedy: %s\n", error.remedy.c_str());
  return exit_code;
}

namespace {

constexpr const char* kExamples = R"(Examples:
  vitrine run -c 'print(2 ** 100)'           runs one line in a session of its own
  vitrine run job.py --timeout 5 --memory 256 --stdin data.csv
  vitrine repl                               an interactive session
  vitrine serve                              starts the server on http://127.0.0.1:8000
  curl -s http://127.0.0.1:8000/v1/run --json '{"code": "6 * 7"}'
  vitrine doctor                             reports the isolation that this host supports

`vitrine COMMAND --help` has the details. The exit code is that of the code; 124 = time limit,
137 = memory limit, 2 = wrong usage, 125 = Vitrine itself failed.)";

constexpr const char* kServe = R"(Examples:
  vitrine serve --data /var/lib/vitrine --pool 8
  vitrine serve --listen 0.0.0.0:8000        clients need the token in DIR/token
  vitrine serve --config vitrine.json        {"listen": "127.0.0.1:9000", "pool_bare": 4}

The server prints one line on stdout when it is ready; logs go to stderr. SIGTERM ends it and all
sessions within ten seconds. Flags take precedence over the file, which has the same names, with _
for -.)";

constexpr const char* kRun = R"(Examples:
  vitrine run job.py                         streams its output; exits with its exit code
  vitrine run -c 'import numpy; numpy.eye(2)'    prints the value of the last expression
  echo 'print(input())' | vitrine run - --stdin names.txt
  vitrine run job.py --json | jq .usage
  vitrine run game.py --screenshot game.png  a screenshot, also of a program that never ends
  vitrine run --with polars job.py           installs the package; later runs reuse it

The server is that of --url, $VITRINE_URL, or one on 127.0.0.1:8000. Without any, a private server
is started for this run and removed afterwards (--url private: always).)";

constexpr const char* kRepl = R"(Examples:
  vitrine repl --memory 2048
  echo 'sum(range(10))' | vitrine repl       works without a terminal too

A block ends with an empty line. Ctrl-C interrupts the running code. Ctrl-D or exit() ends the
session and deletes its files. The server is chosen as in `vitrine run`.)";

constexpr const char* kCompletion = R"(Examples:
  source <(vitrine completion bash)          in ~/.bashrc
  source <(vitrine completion zsh)           in ~/.zshrc
  vitrine completion fish > ~/.config/fish/completions/vitrine.fish)";

void add_target(CLI::App& command, Target& target) {
  command.add_option("--url", target.url,
                     "server, such as http://127.0.0.1:8000, or private [$VITRINE_URL]");
  command.add_option("--token", target.token,
                     "the server's token, if it needs one [$VITRINE_TOKEN]");
  command.add_option("--timeout", target.timeout_s, "seconds for one execution [30]");
  command.add_option("--memory", target.memory_mb, "megabytes [512]");
  command.add_option("--env", target.env, "NAME=VALUE; may be repeated")
      ->type_size(1)
      ->allow_extra_args(false);
  command.add_option("--with", target.with, "a package to install; may be repeated")
      ->type_size(1)
      ->allow_extra_args(false)
      ->option_text("REQUIREMENT");
  command.add_flag("--allow-sdist", target.allow_sdist,
                   "build packages that have only a source distribution");
  command.add_option("--environment", target.environment, "packages that the operator built")
      ->option_text("NAME");
  command
      .add_option("--allow", target.allow, "HOST[:PORT] that it may reach; may be repeated [none]")
      ->type_size(1)
      ->allow_extra_args(false);
  command
      .add_option("--policy", target.policy,
                  "what the language may do: native, restricted, smolagents")
      ->check(CLI::IsMember({"native", "restricted", "restrictedpython", "smolagents"}))
      ->option_text("NAME");
  command.add_option("--import", target.imports, "a module to allow in addition; may be repeated")
      ->type_size(1)
      ->allow_extra_args(false)
      ->option_text("MODULE");
  command.add_option("--image", target.image, "runtime image of a private server");
}

constexpr const char* kPackages = R"(Examples:
  vitrine packages list                      installed layers, and whether they are in use
  vitrine packages warm polars 'httpx[http2]>=0.27'
  vitrine packages prune --keep 1000         deletes unused layers until 1000 MB are left

These commands work on a running server, chosen as in `vitrine run`. It may require the owner's
token.)";

struct PackagesOptions {
  Target target;
  std::uint64_t keep_mb = 0;
  bool json = false;
  CLI::App* list = nullptr;
  CLI::App* warm = nullptr;
  CLI::App* prune = nullptr;
};

void add_packages(CLI::App& command, PackagesOptions& options) {
  command.require_subcommand(1);
  command.footer(kPackages);
  options.list = command.add_subcommand("list", "installed layers");
  options.warm = command.add_subcommand("warm", "install packages in advance");
  options.prune = command.add_subcommand("prune", "delete layers that no session uses");
  options.warm->add_option("REQUIREMENT", options.target.with, "such as polars==1.*")->required();
  options.warm->add_flag("--allow-sdist", options.target.allow_sdist,
                         "build those that have only a source distribution");
  options.prune->add_option("--keep", options.keep_mb, "megabytes to keep [0]");
  for (CLI::App* one : {options.list, options.warm, options.prune}) {
    one->add_option("--url", options.target.url, "server [$VITRINE_URL]");
    one->add_option("--token", options.target.token, "its token [$VITRINE_TOKEN]");
    one->add_flag("--json", options.json, "as JSON");
  }
}

int manage_packages(const PackagesOptions& options) {
  const auto action = options.list->parsed()   ? PackagesAction::list
                      : options.warm->parsed() ? PackagesAction::warm
                                               : PackagesAction::prune;
  return packages(action, options.target, options.keep_mb, options.json);
}

void add_serve(CLI::App& command, ServeOptions& options) {
  for (const Setting& setting : kSettings)
    command
        .add_option_function<std::string>(
            flag_of(setting),
            [&options, &setting](const std::string& value) {
              options.settings[setting.name] = value;
            },
            help_of(setting))
        ->option_text(setting.value);
  command
      .add_option("--host", options.hosts, "an additional accepted Host header; may be repeated")
      ->type_size(1)
      ->allow_extra_args(false)
      ->option_text("NAME:PORT");
  command.add_option("--config", options.config, "JSON file with the same names")
      ->option_text("FILE");
  command.add_flag("--ephemeral", options.ephemeral,
                   "end with the parent process, and remove the data directory");
  command.footer(kServe);
}

int wrong_usage(const std::string& message, const std::string& remedy) {
  return refuse(Error{.code = Code::invalid_argument, .message = message, .remedy = remedy},
                kUsage);
}

int check_and_run(const RunOptions& options) {
  if (options.file.empty() == !options.code)
    return wrong_usage(options.code ? "both a file and -c were given" : "there is nothing to run",
                       "give one of FILE, -c CODE and - (standard input)");
  if (options.file == "-" && options.stdin_file == "-")
    return wrong_usage("standard input cannot be both the code and its input",
                       "put the code in a file, or give it with -c");
  return run(options);
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Vitrine runs untrusted Python in isolated sessions.", "vitrine");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", std::string("vitrine ") + kVersion);
  app.footer(kExamples);

  ServeOptions serving;
  RunOptions running;
  Target conversing;
  std::string image;
  std::string shell;
  bool as_json = false;
  bool force = false;
  CLI::App& serve_command = *app.add_subcommand("serve", "start the server");
  add_serve(serve_command, serving);
  CLI::App& run_command = *app.add_subcommand("run", "run code in a session of its own");
  run_command.add_option("FILE", running.file, "Python file; - = standard input");
  run_command.add_option("-c", running.code, "the code itself");
  run_command.add_option("--stdin", running.stdin_file,
                         "file that the code reads as its input; - = standard input");
  run_command.add_option("--screenshot", running.screenshot, "write a screenshot to this PNG file")
      ->option_text("FILE");
  run_command.add_flag("--json", running.json, "print the execution as JSON, and nothing else");
  add_target(run_command, running.target);
  run_command.footer(kRun);
  CLI::App& repl_command = *app.add_subcommand("repl", "an interactive session");
  add_target(repl_command, conversing);
  repl_command.footer(kRepl);
  PackagesOptions managing;
  CLI::App& packages_command =
      *app.add_subcommand("packages", "manage the installed packages of a server");
  add_packages(packages_command, managing);
  CLI::App& doctor_command =
      *app.add_subcommand("doctor", "report the isolation that this host supports");
  doctor_command.add_option("--image", image, "runtime image");
  doctor_command.add_flag("--json", as_json, "as JSON");
  CLI::App& image_command = *app.add_subcommand("image", "build or describe the runtime image");
  image_command.require_subcommand(1);
  CLI::App& build_command =
      *image_command.add_subcommand("build", "build it, if its recipe changed");
  build_command.add_flag("--force", force, "build it again in any case");
  BakeOptions baking;
  build_command
      .add_option("--with", baking.with,
                  "a package of an environment beside the image; may be repeated")
      ->type_size(1)
      ->allow_extra_args(false)
      ->option_text("REQUIREMENT");
  build_command.add_option("--name", baking.name, "name of the environment [the first package's]");
  build_command.add_option("--preload", baking.preload,
                           "modules to import before a session exists, separated by commas");
  build_command.add_option("--image", baking.image, "the image that it belongs to");
  build_command.add_option("--find-links", baking.find_links, "a directory with wheels");
  build_command.add_flag("--no-index", baking.no_index, "use only those wheels");
  CLI::App& info_command = *image_command.add_subcommand("info", "describe its contents");
  info_command.add_option("--image", image, "another image than the default");
  info_command.add_flag("--json", as_json, "as JSON");
  std::string tokens;
  std::string data;
  CLI::App& tokens_command = *app.add_subcommand("read-tokens", "what the server does on SIGHUP");
  tokens_command.group("");  // for the keeper, not for people
  tokens_command.add_option("--tokens", tokens)->required();
  tokens_command.add_option("--data", data)->required();
  CLI::App& version_command = *app.add_subcommand("version", "print the version");
  CLI::App& completion_command =
      *app.add_subcommand("completion", "print completion code for a shell");
  completion_command.add_option("SHELL", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion_command.footer(kCompletion);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // help, version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string name = chosen.empty() ? "" : " " + chosen.front()->get_name();
    return wrong_usage(error.what(), "see `vitrine" + name + " --help`");
  }
  if (serve_command) return serve(serving);
  if (run_command) return check_and_run(running);
  if (repl_command) return repl(conversing);
  if (packages_command) return manage_packages(managing);
  if (doctor_command) return doctor(image, as_json);
  if (build_command) return image_build(force, baking);
  if (info_command) return image_info(image, as_json);
  if (tokens_command) return read_tokens(tokens, data);
  if (completion_command) return completion(shell);
  if (version_command) return std::printf("vitrine %s\n", kVersion) < 0 ? 1 : 0;
  std::fputs(app.help().c_str(), stdout);
  return 0;
}

}  // namespace

}  // namespace vitrine::app

int main(int argc, char** argv) { return vitrine::app::parse_and_run(argc, argv); }
