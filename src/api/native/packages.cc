// SPDX-License-Identifier: Apache-2.0
#include "api/native/packages.h"

#include "api/native/requests.h"
#include "api/route_helpers.h"
#include "api/schemas.h"
#include "api/streamed.h"

namespace vitrine::api {

using service::InstalledPackages;

namespace {

constexpr std::size_t kMaxBody = 64u << 10;

struct PackageRoutes {
  service::Operations& operations;
  service::Packages& packages;

  Task<void> list(Exchange& exchange);
  Task<void> install(Exchange& exchange);
  Task<void> add(Exchange& exchange);
  Task<void> prune(Exchange& exchange);
  Task<void> answer(Exchange& exchange, Streamed& streamed, Result<InstalledPackages> installed);
};

json::object layer_json(const service::LayerView& view) {
  const packages::Layer& layer = view.layer;
  json::object out{
      {"id", layer.id},        {"bytes", layer.bytes},         {"files", layer.files},
      {"in_use", view.in_use}, {"last_used", layer.last_used}, {"shadows_image", layer.shadows}};
  json::array& pins = out["packages"].emplace_array();
  for (const std::string& pin : layer.pins) pins.emplace_back(pin);
  return out;
}

Task<void> PackageRoutes::list(Exchange& exchange) {
  json::array layers;
  for (const service::LayerView& view : packages.list()) layers.emplace_back(layer_json(view));
  json::object out{{"layers", std::move(layers)},
                   {"bytes", packages.bytes()},
                   {"budget_bytes", packages.budget_bytes()},
                   {"installations", packages.installations()}};
  co_await exchange.respond(http::status::ok, "application/json", json::serialize(out));
}

Task<std::optional<json::object>> small_body(Exchange& exchange) {
  return body_of(exchange, kMaxBody, EmptyBody::is_object, "name fewer packages");
}

// None after it has answered what is wrong.
Task<std::optional<provision::PackageRequest>> wish_of(Exchange& exchange) {
  std::optional<json::object> body = co_await small_body(exchange);
  if (!body) co_return std::nullopt;
  service::SessionRequest request;
  Fields fields(*body);
  read_packages(fields, request);
  if (auto problem = fields.problem()) {
    co_await respond(exchange, *problem);
    co_return std::nullopt;
  }
  request.packages.owner = exchange.identity->name;
  co_return std::move(request.packages);
}

Task<void> PackageRoutes::answer(Exchange& exchange, Streamed& streamed,
                                 Result<InstalledPackages> installed) {
  if (!installed) co_return co_await streamed.fail(installed.error());
  json::object out{
      {"layer", installed->layer}, {"packages", json::array{}}, {"notes", json::array{}}};
  for (const std::string& pin : installed->pins) out["packages"].as_array().emplace_back(pin);
  for (const std::string& note : installed->notes) out["notes"].as_array().emplace_back(note);
  if (!streamed.wanted())
    co_return co_await exchange.respond(http::status::ok, "application/json", json::serialize(out));
  out["type"] = "finished";
  std::string line = json::serialize(out) + "\n";
  const bool there = co_await streamed.write(std::move(line));
  if (there) co_await exchange.finish();
}

Task<void> PackageRoutes::install(Exchange& exchange) {
  std::optional<provision::PackageRequest> wish = co_await wish_of(exchange);
  if (!wish) co_return;
  Streamed streamed(exchange);
  HttpClient client(exchange, &streamed);
  Result<InstalledPackages> installed = co_await packages.install(std::move(*wish), client);
  co_await answer(exchange, streamed, std::move(installed));
}

Task<void> PackageRoutes::add(Exchange& exchange) {
  service::SessionRef session = co_await session_of(exchange, operations);
  if (!session) co_return;
  std::optional<provision::PackageRequest> wish = co_await wish_of(exchange);
  if (!wish) co_return;
  Streamed streamed(exchange);
  HttpClient client(exchange, &streamed);
  Result<InstalledPackages> added = co_await packages.add(session, std::move(*wish), client);
  co_await answer(exchange, streamed, std::move(added));
}

Task<void> PackageRoutes::prune(Exchange& exchange) {
  std::optional<json::object> body = co_await small_body(exchange);
  if (!body) co_return;
  Fields fields(*body);
  fields.use(kPrune);
  const std::uint64_t keep = fields.whole("keep_mb").value_or(0) << 20;
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  const service::Packages::Pruned pruned = packages.prune(keep);
  json::object out{{"removed", pruned.layers}, {"freed_bytes", pruned.bytes}};
  co_await exchange.respond(http::status::ok, "application/json", json::serialize(out));
}

}  // namespace

void add_package_routes(Router& router, service::Operations& operations,
                        service::Packages& packages) {
  auto routes = std::make_shared<PackageRoutes>(PackageRoutes{operations, packages});
  const auto add = [&](http::verb method, const char* pattern, const char* summary, Access access,
                       Task<void> (PackageRoutes::*member)(Exchange&)) {
    router.add({method, pattern, summary, access,
                [routes, member](Exchange& exchange) { return (*routes.*member)(exchange); }});
  };
  using http::verb;
  add(verb::get, "/v1/packages", "Installed package layers", Access::overview,
      &PackageRoutes::list);
  add(verb::post, "/v1/packages", "Install packages before a session needs them", Access::overview,
      &PackageRoutes::install);
  add(verb::post, "/v1/packages/prune", "Remove layers that no session uses", Access::overview,
      &PackageRoutes::prune);
  add(verb::post, "/v1/sessions/{id}/packages", "Add packages to a live session", Access::ordinary,
      &PackageRoutes::add);
}

}  // namespace vitrine::api
