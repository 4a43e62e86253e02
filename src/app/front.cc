// SPDX-License-Identifier: Apache-2.0
#include "app/front.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <csignal>
#include <set>

#include "api/native/files.h"
#include "api/native/native.h"
#include "api/native/packages.h"
#include "api/native/screen.h"
#include "api/openapi.h"
#include "api/problem.h"
#include "api/recordings.h"
#include "api/render.h"
#include "api/sandbox_vm/sandbox_vm.h"
#include "app/tokens.h"
#include "app/version.h"
#include "backend/clock.h"
#include "backend/spawn.h"

namespace vitrine::app {

namespace asio = boost::asio;
namespace json = boost::json;
using api::Exchange;
using api::Task;
using asio::ip::tcp;

namespace {

constexpr std::chrono::seconds kDrain{8};

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

}  // namespace

Front::Front(asio::io_context& context, FrontOptions options, FrontFds fds, FrontParts parts)
    : context_(context),
      options_(std::move(options)),
      listener_(std::move(fds.listener)),
      ready_(std::move(fds.ready)),
      store_(std::move(parts.store)),
      keeper_(context.get_executor(), std::move(fds.control)),
      history_(store_, [](const ExecRecord& record) { return api::execution_json(record); }),
      recordings_(context.get_executor(), keeper_, store_, watchers_, options_.data + "/recordings",
                  {.kept_bytes = options_.recordings_mb << 20}),
      registry_({.executor = context.get_executor(),
                 .keeper = keeper_,
                 .accounts = accounts_,
                 .observer = observers_,
                 .package_questions = package_questions_,
                 .image_pool = image_pool_},
                store_,
                {.default_policy = policy_from(options_.policy).value_or(Policy::native),
                 .network_for_sessions = options_.network == "on"}),
      provisioner_(context.get_executor(), registry_, accounts_, keeper_, std::move(parts.packages),
                   std::move(parts.layers)),
      live_packages_(context.get_executor(), registry_, provisioner_),
      judge_(context.get_executor(), operations_, std::move(parts.rules)) {}

std::string Front::package_metrics() {
  return api::metric("vitrine_package_installations_total", "counter", "Package layers installed.",
                     static_cast<double>(provisioner_.installations())) +
         api::metric("vitrine_package_layers_bytes", "gauge", "Disk space of package layers.",
                     static_cast<double>(provisioner_.layers().bytes()));
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
    Result<KeeperInfo> keeper = backend::expect<KeeperInfo>(co_await keeper_.call(wire::Info{}));
    const std::string text =
        metrics_.text(registry_, recordings_, *server_, keeper ? &*keeper : nullptr) +
        package_metrics();
    co_await exchange.respond(api::http::status::ok, "text/plain; version=0.0.4", text);
  });
  get("/openapi.json", "This description", api::Access::ordinary,
      [this](Exchange& exchange) -> Task<void> {
        co_await exchange.respond(api::http::status::ok, "application/json",
                                  api::openapi_json(router_, kVersion));
      });
  api::add_native_routes(router_, operations_, {.version = kVersion});
  api::add_package_routes(router_, operations_, packages_);
  api::add_file_routes(router_, operations_, files_);
  api::add_screen_routes(router_, operations_, screens_, screenshots_);
  api::add_recording_routes(router_, operations_, screens_);
  api::add_sandbox_vm_routes(router_, context_.get_executor(), operations_, screens_, screenshots_);
  per_identity_.emplace(router_, server_->identities().all(),
                        [this, capacity](api::Router& router, const Identity& identity) {
                          api::openenv::add_routes(router, context_.get_executor(), operations_,
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
  if (::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return Error::from_errno("looking at the listening socket");
  acceptor.assign(address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), listener_.get(), failed);
  if (!failed) (void)listener_.release();
  if (failed) return Error{Code::internal, "taking the listening socket: " + failed.message()};
  const tcp::endpoint local = acceptor.local_endpoint(failed);
  Result<api::Identities> identities = load_identities(options_);
  if (!identities) return std::move(identities.error());
  for (const Identity* identity : identities->all())
    if (identity->is_named()) accounts_.open(*identity);
  registry_.recycle_for(needs_token(local, options_) ? std::string(kOwnerName) : "");
  api::ServerConfig config{.identities = std::move(*identities),
                           .token_everywhere = needs_token(local, options_),
                           .hosts = own_hosts(local, options_)};
  if (options_.auth == "none")
    log_line("warning: --auth none: anyone who reaches the port may use this server");
  server_.emplace(std::move(acceptor), router_, std::move(config), [this](const api::Handled& one) {
    metrics_.handled(one);
    log_.request_handled(one);
  });
  if (Status opened = recordings_.open(); !opened) return opened;
  spawn(context_.get_executor(), run(), "front");
  return ok();
}

Task<void> Front::tend() {
  Timer timer(context_);
  for (;;) {
    timer.expires_after(std::chrono::seconds(1));
    co_await timer.async_wait(asio::use_awaitable);
    registry_.rest_idle();
    log_.begin_second();
  }
}

// On SIGHUP, which the keeper sends when it has found the file good.
Task<void> Front::change_tokens() {
  for (;;) {
    co_await hangup_.async_wait(asio::use_awaitable);
    if (Status done = read_tokens_again(); !done)
      log_line("error front: the tokens stay as they were: " + done.error().describe());
    else log_line("info front: the tokens of the file are in use");
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
    if (accounts_.change(identity)) continue;
    // Sessions of that name may be there from before.
    accounts_.open(identity);
    for (const auto& session : registry_.list(identity))
      accounts_.session_begins(identity.name, session->spec().limits,
                               session::Accounts::Rate::is_free);
  }
  return ok();
}

Task<void> Front::run() {
  asio::co_spawn(context_, keeper_.run([this](const wire::Event& e) { registry_.on_event(e); }),
                 [this](std::exception_ptr) { context_.stop(); });  // no keeper, no front
  Result<KeeperInfo> info = backend::expect<KeeperInfo>(co_await keeper_.call(wire::Info{}));
  if (!info) co_return context_.stop();
  session::Registry::Offers offers{.isolations = info->isolations, .environments = {}};
  for (const EnvironmentInfo& one : info->environments) offers.environments.push_back(one.name);
  registry_.offer(std::move(offers));
  add_routes(info->capacity);
  co_await recordings_.adopt(info->instance);
  if (Status adopted = co_await registry_.adopt(info->instance); !adopted)
    log_line("error front: taking over sessions: " + adopted.error().describe());
  if (Status good = co_await judge_.start(); !good) {
    log_line("error front: " + good.error().describe());
    if (good.error().code == Code::invalid_argument) {
      exit_code_ = kRefused;
      co_return context_.stop();
    }
  }
  spawn(context_.get_executor(), server_->accept_all(), "accept");
  spawn(context_.get_executor(), tend(), "tend");
  spawn(context_.get_executor(), live_packages_.serve(package_questions_), "packages on demand");
  if (!options_.tokens_file.empty()) spawn(context_.get_executor(), change_tokens(), "tokens");
  (void)!::write(ready_.get(), "r", 1);
  ready_.reset();
  asio::signal_set signals(context_, SIGTERM, SIGINT);
  boost::system::error_code failed;
  co_await signals.async_wait(asio::redirect_error(asio::use_awaitable, failed));
  co_await drain();
  context_.stop();
}

Task<void> Front::drain() {
  server_->stop();
  co_await recordings_.finish_all();
  const auto latest = Clock::now() + kDrain;
  Timer timer(context_);
  while (server_->busy() > 0 && Clock::now() < latest) {
    timer.expires_after(std::chrono::milliseconds(20));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

}  // namespace vitrine::app
