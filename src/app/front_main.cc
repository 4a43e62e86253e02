// SPDX-License-Identifier: Apache-2.0
// vitrine-front: speaks HTTP for the keeper that started it. It holds no privilege and no state that
// the store or the keeper does not have too: killed at any moment, the next one goes on.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <set>

#include "api/metrics.h"
#include "api/native.h"
#include "api/openapi.h"
#include "api/openenv/routes.h"
#include "api/per_identity.h"
#include "api/problem.h"
#include "api/recordings.h"
#include "api/render.h"
#include "api/sandbox_vm.h"
#include "api/screen.h"
#include "api/server.h"
#include "app/tokens.h"
#include "app/version.h"
#include "base/sha256.h"
#include "session/stamps.h"

namespace vitrine::app {

namespace asio = boost::asio;
namespace json = boost::json;
using api::Exchange;
using api::Task;
using asio::ip::tcp;

namespace {

// As the keeper places them; see keeper/front.h.
constexpr int kRefused = 2;  // the settings are wrong: the keeper does not try again
constexpr int kControl = 3;
constexpr int kListener = 4;
constexpr int kReady = 5;
constexpr std::chrono::seconds kDrain{8};
// Stock OpenEnv clients wait 60 s for an answer.
constexpr std::chrono::seconds kPackagePatience{25};  // and a second try after the first
constexpr std::uint32_t kLinesPerSecond = 200;

struct FrontOptions {
  std::string data;
  std::string token_file;
  std::string tokens_file;
  std::string auth = "auto";  // auto = token beyond loopback; token; none
  std::vector<std::string> hosts;
  std::uint32_t history = 1000;
  std::uint64_t recordings_mb = 2048;  // of films that ended; the oldest go first
  std::string reward = "openenv";      // none, openenv, or a file of rules
  std::string policy = "native";       // of sessions that name none
  std::string network = "on";          // off = only installations of packages have one
  std::string packages;                // file of app/package_settings.h; "" = no packages
};

void log_line(const std::string& text) {
  const std::string line = session::now_rfc3339() + " " + text + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

std::string quoted(const std::string& text) { return json::serialize(json::string(text)); }

// The token in the file, or a new one put there, readable for its owner only.
Result<std::string> load_token(const std::string& path) {
  Result<std::string> found = read_file(AT_FDCWD, path.c_str(), 4096);
  if (found) {
    while (!found->empty() && std::isspace(static_cast<unsigned char>(found->back())) != 0)
      found->pop_back();
    if (found->size() < 16)
      return Error{.code = Code::invalid_argument,
                   .message = "the token file holds fewer than 16 characters",
                   .remedy = "put a long random text there, or delete the file"};
    return found;
  }
  std::string token = session::new_id() + session::new_id();
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string text = token + "\n";
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return Error::from_errno("writing the token file");
  return token;
}

// The owner's token and those of the tokens file.
Result<api::Identities> load_identities(const FrontOptions& options) {
  Result<std::string> owner =
      load_token(options.token_file.empty() ? options.data + "/token" : options.token_file);
  if (!owner) return std::move(owner.error());
  std::vector<Token> others;
  if (!options.tokens_file.empty()) {
    Result<std::vector<Token>> loaded = load_tokens(options.tokens_file);
    if (!loaded) return std::move(loaded.error());
    others = std::move(*loaded);
  }
  for (const Token& one : others)
    if (one.sha256 == sha256_hex(*owner))
      return Error{.code = Code::invalid_argument,
                   .message = "the token of '" + one.identity.name + "' is the owner's",
                   .remedy = "give it one of its own"};
  return api::Identities(*owner, others);
}

Result<std::string> load_rules(const std::string& wanted) {
  if (wanted == "none") return std::string();
  if (wanted == "openenv") return api::openenv::openenv_rules();
  Result<std::string> rules = read_file(AT_FDCWD, wanted.c_str(), 1u << 20);
  if (!rules)
    rules.error().remedy = "--reward takes none, openenv, or a file that uid " +
                           std::to_string(::geteuid()) + " may read";
  return rules;
}

Result<packages::Config> load_packages(const std::string& file) {
  packages::Config off;
  off.on = false;
  if (file.empty()) return off;
  Result<std::string> text = read_file(AT_FDCWD, file.c_str(), 4u << 20);
  if (!text) return std::move(text.error());
  return packages::config_from_json(*text);
}

bool is_loopback(const tcp::endpoint& local) { return local.address().is_loopback(); }

bool needs_token(const tcp::endpoint& local, const FrontOptions& options) {
  return options.auth == "token" || (options.auth == "auto" && !is_loopback(local));
}

std::set<std::string> own_hosts(const tcp::endpoint& local, const FrontOptions& options) {
  if (!is_loopback(local) && options.hosts.empty()) return {};  // any name may lead here
  const std::string port = ":" + std::to_string(local.port());
  std::set<std::string> hosts{"localhost" + port, "127.0.0.1" + port, "[::1]" + port};
  if (local.port() == 80) hosts.insert({"localhost", "127.0.0.1", "[::1]"});
  for (const std::string& host : options.hosts) hosts.insert(host);
  return hosts;
}

class Front {
 public:
  Front(asio::io_context& context, FrontOptions options, store::Store store, std::string rules,
        packages::Config packages, packages::Layers layers)
      : context_(context),
        options_(std::move(options)),
        store_(std::move(store)),
        keeper_(context.get_executor(), Fd(kControl)),
        registry_(context.get_executor(), keeper_, store_,
                  [](const ExecRecord& record) { return api::execution_json(record); }),
        recordings_(context.get_executor(), keeper_, store_, options_.data + "/recordings",
                    {.kept_bytes = options_.recordings_mb << 20}),
        judge_(context.get_executor(), registry_, std::move(rules)),
        provisioner_(context.get_executor(), registry_, std::move(packages), std::move(layers)),
        live_packages_(context.get_executor(), registry_, provisioner_) {}

  Status start();
  int exit_code() const { return exit_code_; }

 private:
  Task<void> run();
  Task<void> tend();
  Task<void> change_tokens();
  Status read_tokens_again();
  void add_routes(std::uint64_t capacity);
  Task<void> drain();
  std::string package_metrics();
  bool may_log();
  void log_picture(const session::Pictured& picture);
  void log_recording(const session::Recording& one);
  void log_decision(const std::string& session, const NetworkEntry& entry);

  asio::io_context& context_;
  asio::signal_set hangup_{context_, SIGHUP};  // from the beginning: the keeper may send one early
  FrontOptions options_;
  store::Store store_;
  backend::KeeperLink keeper_;
  session::Registry registry_;
  session::Recordings recordings_;
  api::Pictures pictures_{registry_};
  api::openenv::Judge judge_;
  provision::Provisioner provisioner_;
  provision::LivePackages live_packages_;
  api::Router router_;
  std::optional<api::PerIdentity> per_identity_;
  api::Metrics metrics_;
  std::optional<api::Server> server_;
  int exit_code_ = 0;
  std::uint32_t lines_left_ = kLinesPerSecond;  // that sessions may cause in this second
  std::uint64_t lines_unlogged_ = 0;
};

// Session code must not fill the disk: what comes too fast is counted.
bool Front::may_log() {
  if (lines_left_ > 0) return lines_left_-- > 0;
  ++lines_unlogged_;
  return false;
}

void Front::log_decision(const std::string& session, const NetworkEntry& entry) {
  if (!may_log()) return;
  log_line("info front: network session=" + session + " host=" + quoted(entry.host) + " port=" +
           std::to_string(entry.port) + " decision=" + std::string(to_string(entry.decision)) +
           " address=" + (entry.address.empty() ? "none" : entry.address) +
           " reason=" + quoted(entry.reason));
}

// Those that succeed are counted only.
void Front::log_picture(const session::Pictured& picture) {
  const double seconds = std::chrono::duration<double>(picture.latency).count();
  metrics_.pictured(picture.result, seconds);
  if (picture.result != session::PictureResult::failed || !may_log()) return;
  log_line("warning front: screenshot failed session=" + picture.session +
           " execution=" + (picture.execution.empty() ? "none" : picture.execution) +
           " seconds=" + std::to_string(seconds) + " reason=" + quoted(picture.why));
}

void Front::log_recording(const session::Recording& one) {
  if (!one.is_running()) metrics_.recorded(one.reason);
  if (!may_log()) return;
  const std::string whose = " session=" + one.session + " recording=" + one.id;
  if (one.is_running())
    return log_line("info front: recording began" + whose +
                    " format=" + std::string(wire::encoder::to_string(one.wish.format)) +
                    " fps=" + std::to_string(one.fps));
  log_line("info front: recording ended" + whose + " reason=" + one.reason +
           " frames=" + std::to_string(one.progress.frames) +
           " seconds=" + std::to_string(one.progress.milliseconds / 1000) +
           " bytes=" + std::to_string(recordings_.size(one)) + " detail=" + quoted(one.detail));
}

std::string Front::package_metrics() {
  const auto sample = [](const char* name, const char* type, const char* help,
                         std::uint64_t value) {
    return std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n" +
           name + " " + std::to_string(value) + "\n";
  };
  return sample("vitrine_package_installations_total", "counter", "Package layers installed.",
                provisioner_.installations()) +
         sample("vitrine_package_layers_bytes", "gauge", "Disk that package layers use.",
                provisioner_.layers().bytes());
}

void Front::add_routes(std::uint64_t capacity) {
  const auto get = [&](const char* pattern, const char* summary, api::Access access,
                       api::Handler handler) {
    router_.add({api::http::verb::get, pattern, summary, access, std::move(handler)});
  };
  get("/health", "Whether it is alive", api::Access::open, [](Exchange& exchange) -> Task<void> {
    co_await exchange.respond(api::http::status::ok, "application/json",
                              "{\"status\":\"healthy\"}");
  });
  get("/metrics", "Prometheus", api::Access::overview, [this](Exchange& exchange) -> Task<void> {
    Result<wire::Told> told = backend::expect<wire::Told>(co_await keeper_.call(wire::Info{}));
    const std::string keeper = told ? told->json : "";
    const std::string text =
        metrics_.text(registry_, recordings_, *server_, keeper) + package_metrics();
    co_await exchange.respond(api::http::status::ok, "text/plain; version=0.0.4", text);
  });
  get("/openapi.json", "This description", api::Access::ordinary,
      [this](Exchange& exchange) -> Task<void> {
        co_await exchange.respond(api::http::status::ok, "application/json",
                                  api::openapi_json(router_, kVersion));
      });
  api::add_native_routes(
      router_, registry_,
      {.version = kVersion, .packages = &provisioner_, .live_packages = &live_packages_});
  api::add_screen_routes(router_, registry_, pictures_);
  api::add_recording_routes(router_, registry_, recordings_);
  api::add_sandbox_vm_routes(router_, context_.get_executor(), registry_, recordings_, pictures_);
  per_identity_.emplace(router_, server_->identities().all(),
                        [this, capacity](api::Router& router, const Identity& identity) {
                          api::openenv::add_routes(router, context_.get_executor(), registry_,
                                                   judge_,
                                                   {.owner = identity, .capacity = capacity});
                        });
}

Status Front::start() {
  boost::system::error_code failed;
  tcp::acceptor acceptor(context_);
  // The keeper made it, so its family is what it is.
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(kListener, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return Error::from_errno("looking at the listening socket");
  acceptor.assign(address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), kListener, failed);
  if (failed) return Error{Code::internal, "taking the listening socket: " + failed.message()};
  const tcp::endpoint local = acceptor.local_endpoint(failed);
  Result<api::Identities> identities = load_identities(options_);
  if (!identities) return std::move(identities.error());
  for (const Identity* identity : identities->all())
    if (identity->is_named()) registry_.accounts().open(*identity);
  registry_.default_policy(policy_from(options_.policy).value_or(Policy::native));
  registry_.recycle_for(needs_token(local, options_) ? std::string(kOwnerName) : "");
  api::ServerConfig config{.identities = std::move(*identities),
                           .token_everywhere = needs_token(local, options_),
                           .hosts = own_hosts(local, options_)};
  if (options_.auth == "none")
    log_line("warning: --auth none: whoever reaches the port may use it");
  server_.emplace(std::move(acceptor), router_, std::move(config), [this](const api::Handled& one) {
    metrics_.handled(one);
    if (one.status >= 500)
      log_line("error front: " + std::string(one.route) + " answered " +
               std::to_string(one.status) + " session=" + std::string(one.session) +
               " execution=" + std::string(one.execution));
  });
  registry_.on_finished = [this](const ExecRecord& record) {
    metrics_.executed(record);
    if (record.outcome != Outcome::ok && record.outcome != Outcome::exception)
      log_line("info front: execution ended session=" + record.session + " execution=" + record.id +
               " policy=" + std::string(to_string(record.policy)) +
               " outcome=" + std::string(to_string(record.outcome)) +
               (record.outcome == Outcome::policy ? " rule=" + std::string(rule_of(record)) : ""));
  };
  registry_.on_wish = [this](std::shared_ptr<session::Session> session,
                             std::shared_ptr<session::Execution> execution, std::string wish) {
    asio::co_spawn(context_, live_packages_.answer(session, execution, std::move(wish)),
                   asio::detached);
  };
  registry_.network_for_sessions = options_.network == "on";
  registry_.provider = [this](session::SessionSpec* spec) {
    return provisioner_.provide_in_time(spec, kPackagePatience);
  };
  registry_.on_layer_lost = [this](const std::string& layer) {
    return provisioner_.layers().forget_lost(layer);
  };
  registry_.on_decided = [this](const std::string& session, const NetworkEntry& entry) {
    log_decision(session, entry);
  };
  registry_.on_picture = [this](const session::Pictured& picture) { log_picture(picture); };
  registry_.on_display_ended = [this](const std::string& session, const std::string& why) {
    recordings_.display_ended(session);
    if (!why.empty() && may_log())
      log_line("info front: display ended session=" + session + " reason=" + quoted(why));
  };
  recordings_.on_change = [this](const session::Recording& one) { log_recording(one); };
  if (Status opened = recordings_.open(); !opened) return opened;
  asio::co_spawn(context_, run(), asio::detached);
  return ok();
}

Task<void> Front::tend() {
  asio::steady_timer timer(context_);
  for (;;) {
    timer.expires_after(std::chrono::seconds(1));
    co_await timer.async_wait(asio::use_awaitable);
    registry_.rest_idle();
    if (lines_unlogged_ > 0)
      log_line("warning front: lines about sessions that came too fast to be logged: " +
               std::to_string(std::exchange(lines_unlogged_, 0)));
    lines_left_ = kLinesPerSecond;
  }
}

// On SIGHUP, which the keeper sends when it has found the file good.
Task<void> Front::change_tokens() {
  for (;;) {
    co_await hangup_.async_wait(asio::use_awaitable);
    if (Status done = read_tokens_again(); !done)
      log_line("error front: the tokens stay as they were: " + done.error().describe());
    else log_line("info front: the tokens are those of the file now");
  }
}

Status Front::read_tokens_again() {
  Result<std::vector<Token>> tokens = load_tokens(options_.tokens_file);
  if (!tokens) return std::move(tokens.error());
  Result<std::vector<const Identity*>> added = server_->change_tokens(*tokens);
  if (!added) return std::move(added.error());
  for (const Identity* identity : *added) per_identity_->add(*identity);
  for (const Token& token : *tokens) {
    const Identity& identity = token.identity;
    if (registry_.accounts().change(identity)) continue;
    // Sessions of that name may be there from before.
    registry_.accounts().open(identity);
    for (const auto& session : registry_.list(identity))
      registry_.accounts().session_begins(identity.name, session->spec.limits,
                                          session::Accounts::Rate::is_free);
  }
  return ok();
}

Task<void> Front::run() {
  asio::co_spawn(context_, keeper_.run([this](const wire::Event& e) { registry_.on_event(e); }),
                 [this](std::exception_ptr) { context_.stop(); });  // no keeper, no front
  Result<wire::Told> told = backend::expect<wire::Told>(co_await keeper_.call(wire::Info{}));
  if (!told) co_return context_.stop();
  boost::system::error_code failed;
  const json::value info = json::parse(told->json, failed);
  std::string instance = "unknown";
  if (!failed && info.is_object() && info.as_object().contains("instance"))
    instance = std::string(info.as_object().at("instance").as_string());
  std::uint64_t capacity = 0;
  if (!failed && info.is_object() && info.as_object().contains("capacity"))
    capacity = info.as_object().at("capacity").to_number<std::uint64_t>();
  std::vector<std::string> environments;
  if (!failed && info.is_object() && info.as_object().contains("environments"))
    for (const json::value& one : info.as_object().at("environments").as_array())
      environments.emplace_back(one.as_object().at("name").as_string());
  registry_.environments(std::move(environments));
  add_routes(capacity);
  if (Status adopted = co_await registry_.adopt(instance); !adopted)
    log_line("error front: taking over sessions: " + adopted.error().describe());
  if (Status good = co_await judge_.start(); !good) {
    log_line("error front: " + good.error().describe());
    if (good.error().code == Code::invalid_argument) {
      exit_code_ = kRefused;
      co_return context_.stop();
    }
  }
  asio::co_spawn(context_, server_->accept_all(), asio::detached);
  asio::co_spawn(context_, tend(), asio::detached);
  if (!options_.tokens_file.empty()) asio::co_spawn(context_, change_tokens(), asio::detached);
  (void)!::write(kReady, "r", 1);
  ::close(kReady);
  asio::signal_set signals(context_, SIGTERM, SIGINT);
  co_await signals.async_wait(asio::redirect_error(asio::use_awaitable, failed));
  co_await drain();
  context_.stop();
}

Task<void> Front::drain() {
  server_->stop();
  co_await recordings_.finish_all();
  const auto latest = std::chrono::steady_clock::now() + kDrain;
  asio::steady_timer timer(context_);
  while (server_->busy() > 0 && std::chrono::steady_clock::now() < latest) {
    timer.expires_after(std::chrono::milliseconds(20));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

int run(int argc, char** argv) {
  FrontOptions options;
  CLI::App app("vitrine-front: started by vitrine-keeper, not by people");
  app.add_option("--data", options.data)->required();
  app.add_option("--token-file", options.token_file);
  app.add_option("--tokens", options.tokens_file);
  app.add_option("--auth", options.auth)->check(CLI::IsMember({"auto", "token", "none"}));
  app.add_option("--host", options.hosts);
  app.add_option("--history", options.history);
  app.add_option("--recordings-mb", options.recordings_mb)->check(CLI::Range(1, 1 << 20));
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
  asio::io_context& context = *new asio::io_context(1);
  Front front(context, std::move(options), std::move(*store), std::move(*rules),
              std::move(*packages), std::move(*layers));
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
