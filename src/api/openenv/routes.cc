// SPDX-License-Identifier: Apache-2.0
#include "api/openenv/routes.h"

#include "api/openenv/adapter.h"
#include "api/openenv/page.h"

namespace vitrine::api::openenv {

void Adapter::add_to(Router& router) {
  web_changes_.emplace(executor_);
  web_ = make(Environment::Life::idle);
  without_cookies_ = make(Environment::Life::idle);
  auto self = shared_from_this();
  using Method = Task<void> (Adapter::*)(Exchange&);
  const auto add = [&](http::verb verb, const char* pattern, const char* summary, Method method) {
    router.add({verb, pattern, summary, Access::ordinary,
                [self, method](Exchange& exchange) -> Task<void> {
                  co_await ((*self).*method)(exchange);
                }});
  };
  const auto say = [&](const char* pattern, const char* summary, const char* type,
                       std::string body) {
    router.add({http::verb::get, pattern, summary, Access::ordinary,
                [type, body = std::move(body)](Exchange& exchange) -> Task<void> {
                  co_await exchange.respond(http::status::ok, type, body);
                }});
  };
  add(http::verb::post, "/reset", "OpenEnv: a new episode", &Adapter::reset);
  add(http::verb::post, "/step", "OpenEnv: run code", &Adapter::step);
  add(http::verb::get, "/state", "OpenEnv: the episode's counters", &Adapter::state);
  add(http::verb::get, "/ws", "OpenEnv: an environment per WebSocket", &Adapter::socket);
  add(http::verb::post, "/mcp", "OpenEnv's dialect of JSON-RPC", &Adapter::mcp);
  add(http::verb::get, "/mcp", "The same over a WebSocket", &Adapter::mcp_socket);
  add(http::verb::post, "/web/reset", "OpenEnv: the page's environment", &Adapter::web_reset);
  add(http::verb::post, "/web/step", "OpenEnv: the page's environment", &Adapter::web_step);
  add(http::verb::get, "/ws/ui", "OpenEnv: watch the page's environment", &Adapter::web_socket);
  router.add({http::verb::get, "/web/state", "OpenEnv: the page's environment", Access::ordinary,
              [self](Exchange& exchange) -> Task<void> {
                std::string text = state_json(self->web_);
                co_await exchange.respond(http::status::ok, kJson, std::move(text));
              }});
  router.add({http::verb::get, "/web", "OpenEnv: a page to try it", Access::ordinary,
              [](Exchange& exchange) -> Task<void> {
                const std::vector<Header> headers{{"Location", "/web/"}};
                co_await exchange.respond(http::status::temporary_redirect, "", "", headers);
              }});
  say("/metadata", "OpenEnv: what this environment is", kJson, metadata_json(kName));
  say("/web/metadata", "OpenEnv: the same for the page", kJson, metadata_json("coding_env"));
  say("/schema", "OpenEnv: schemas of action, observation, state", kJson, schema_json());
  say("/web/", "OpenEnv: a page to try it", "text/html; charset=utf-8", page_html());
  for (const char* path : {"/docs", "/redoc"})
    say(path, "OpenEnv: this description as a page", "text/html; charset=utf-8", docs_html());
}

void add_routes(Router& router, asio::any_io_executor executor, service::Operations& operations,
                Judge& judge, const Settings& settings) {
  std::make_shared<Adapter>(std::move(executor), operations, judge, settings)->add_to(router);
}

}  // namespace vitrine::api::openenv
