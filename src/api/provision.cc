// SPDX-License-Identifier: Apache-2.0
#include "api/provision.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "api/native_requests.h"
#include "api/request_parts.h"
#include "api/schemas.h"

namespace vitrine::api {

using provision::LivePackages;
using provision::PackageWish;
using provision::Provided;
using provision::Provisioner;
using namespace boost::asio::experimental::awaitable_operators;

namespace {

constexpr std::size_t kMaxBody = 64u << 10;

std::string progress_line(const std::string& text) {
  return json::serialize(
             json::object{{"type", "progress"}, {"stage", "packages"}, {"text", text}}) +
         "\n";
}

// The session that gets it, if it lives already, and the turn to add to it.
struct ForSession {
  LivePackages* live = nullptr;
  std::shared_ptr<session::Session> session = {};
  std::shared_ptr<LivePackages::Turn>* turn = nullptr;
};

// Waits for it and for the client's leaving at once; none once the client is gone.
Task<std::optional<Provided>> provided_or_gone(Exchange& exchange, Streamed& streamed,
                                               Provisioner& provisioner, PackageWish wish,
                                               ForSession of) {
  std::vector<std::string> lines;
  auto said = std::make_shared<std::vector<std::string>>();
  auto changed = std::make_shared<session::Changes>(co_await asio::this_coro::executor);
  auto over = std::make_shared<bool>(false);
  const bool wanted = streamed.wanted();
  Provisioner::Progress progress = [said, changed, wanted](const std::string& text) {
    if (!wanted) return;
    said->push_back(text);
    changed->tell();
  };
  const auto get = [](Provisioner* from, ForSession to, PackageWish what,
                      Provisioner::Progress tell, std::shared_ptr<bool> end,
                      std::shared_ptr<session::Changes> change) -> Task<Provided> {
    Provided result;
    if (to.session)
      result = co_await to.live->provide_for(to.session, std::move(what), std::move(tell), to.turn);
    else result = co_await from->provide(std::move(what), std::move(tell));
    *end = true;
    change->tell();
    co_return result;
  };
  const auto write = [](Streamed* to, std::shared_ptr<std::vector<std::string>> texts,
                        std::shared_ptr<bool> end,
                        std::shared_ptr<session::Changes> change) -> Task<bool> {
    for (std::size_t at = 0;;) {
      while (at < texts->size()) {
        std::string line = progress_line((*texts)[at++]);
        const bool there = co_await to->write(std::move(line));
        if (!there) co_return false;
      }
      if (*end) co_return true;
      co_await change->wait();
    }
  };
  const auto left = [](Exchange* from) -> Task<bool> {
    co_await from->gone();
    co_return true;
  };
  if (!wanted) {
    auto first =
        co_await (get(&provisioner, of, std::move(wish), std::move(progress), over, changed) ||
                  left(&exchange));
    if (first.index() == 1) co_return std::nullopt;
    co_return std::move(std::get<0>(first));
  }
  auto first =
      co_await ((get(&provisioner, of, std::move(wish), std::move(progress), over, changed) &&
                 write(&streamed, said, over, changed)) ||
                left(&exchange));
  if (first.index() == 1) co_return std::nullopt;
  auto both = std::move(std::get<0>(first));
  if (!std::get<1>(both)) co_return std::nullopt;
  co_return std::move(std::get<0>(both));
}

}  // namespace

PackageWish wish_of(const session::SessionSpec& spec) {
  PackageWish wish;
  wish.packages = spec.packages;
  wish.imports = spec.imports;
  wish.allow_sdist = spec.allow_sdist;
  wish.environment = spec.environment;
  wish.owner = spec.owner;
  return wish;
}

Problem problem_of(const provision::PackageTrouble& trouble) {
  return make_problem(static_cast<http::status>(trouble.status), trouble.code, trouble.detail,
                      trouble.remedy, trouble.retry_after_s);
}

Task<void> Streamed::begin() {
  if (begun_) co_return;
  begun_ = true;
  const std::vector<Header> headers{{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  co_await exchange_.stream(http::status::ok, "application/x-ndjson", std::nullopt, headers);
}

Task<bool> Streamed::write(std::string line) {
  co_await begin();
  co_return co_await exchange_.write(line);
}

Task<void> Streamed::fail(Problem problem) {
  if (!begun_) co_return co_await respond(exchange_, problem);
  std::string line = "{\"type\":\"problem\",\"problem\":" + to_json(problem) + "}\n";
  const bool there = co_await write(std::move(line));
  if (there) co_await exchange_.finish();
}

Task<bool> provide(Exchange& exchange, Streamed& streamed, Provisioner* provisioner,
                   session::SessionSpec& spec) {
  PackageWish wish = wish_of(spec);
  if (wish.empty() || provisioner == nullptr) co_return true;
  const ForSession nobody;
  std::optional<Provided> provided =
      co_await provided_or_gone(exchange, streamed, *provisioner, std::move(wish), nobody);
  if (!provided) co_return false;
  if (provided->trouble) {
    Problem problem = problem_of(*provided->trouble);
    co_await streamed.fail(std::move(problem));
    co_return false;
  }
  Provisioner::apply(*provided, spec);
  co_return true;
}

namespace {

json::object layer_json(const packages::Layer& layer, bool used) {
  json::object out{
      {"id", layer.id}, {"bytes", layer.bytes},         {"files", layer.files},
      {"in_use", used}, {"last_used", layer.last_used}, {"shadows_image", layer.shadows}};
  json::array& pins = out["packages"].emplace_array();
  for (const std::string& pin : layer.pins) pins.emplace_back(pin);
  return out;
}

Task<void> list_layers(Exchange& exchange, session::Registry& registry, Provisioner& packages) {
  const std::set<std::string> used = registry.layers_in_use();
  json::array layers;
  for (const packages::Layer& layer : packages.layers().list())
    layers.emplace_back(layer_json(layer, used.contains(layer.id)));
  json::object out{{"layers", std::move(layers)},
                   {"bytes", packages.layers().bytes()},
                   {"budget_bytes", packages.config().budget_bytes},
                   {"installations", packages.installations()}};
  co_await exchange.respond(http::status::ok, "application/json", json::serialize(out));
}

Task<std::optional<json::object>> small_body(Exchange& exchange) {
  return body_of(exchange, kMaxBody, EmptyBody::is_object, "name fewer packages");
}

// Makes a layer, or (with a session) adds it to that one.
Task<void> warm(Exchange& exchange, session::Registry& registry, Provisioner& packages,
                LivePackages& live, std::shared_ptr<session::Session> session) {
  std::optional<json::object> body = co_await small_body(exchange);
  if (!body) co_return;
  session::SessionSpec spec;
  Fields fields(*body);
  read_packages(fields, spec);
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  PackageWish wish = wish_of(spec);
  wish.owner = exchange.identity->name;
  Streamed streamed(exchange);
  std::shared_ptr<LivePackages::Turn> turn;  // until the layer is there
  ForSession of{&live, session, &turn};
  std::optional<Provided> provided =
      co_await provided_or_gone(exchange, streamed, packages, std::move(wish), of);
  if (!provided) co_return;
  if (!provided->trouble && session && provided->shadows)
    provided->trouble = provision::PackageTrouble{
        "conflict", "these packages need other versions than the session's image has",
        "create a session with them in `packages`", 409};
  if (provided->trouble) {
    Problem problem = problem_of(*provided->trouble);
    co_return co_await streamed.fail(std::move(problem));
  }
  if (session && !provided->layer.empty() && provided->layer != session->spec.layer) {
    Status added = co_await registry.add_layer(session, provided->layer);
    if (!added) {
      Problem problem = problem_of(added.error());
      co_return co_await streamed.fail(std::move(problem));
    }
  }
  turn.reset();
  json::object out{
      {"layer", provided->layer}, {"packages", json::array{}}, {"notes", json::array{}}};
  if (const packages::Layer* layer = packages.layers().find(provided->layer))
    for (const std::string& pin : layer->pins) out["packages"].as_array().emplace_back(pin);
  for (const std::string& note : provided->notes) out["notes"].as_array().emplace_back(note);
  if (!streamed.wanted())
    co_return co_await exchange.respond(http::status::ok, "application/json", json::serialize(out));
  out["type"] = "finished";
  std::string line = json::serialize(out) + "\n";
  const bool there = co_await streamed.write(std::move(line));
  if (there) co_await exchange.finish();
}

Task<void> prune(Exchange& exchange, Provisioner& packages) {
  std::optional<json::object> body = co_await small_body(exchange);
  if (!body) co_return;
  Fields fields(*body);
  fields.use(kPrune);
  const std::uint64_t keep = fields.whole("keep_mb").value_or(0) << 20;
  if (auto problem = fields.problem()) co_return co_await respond(exchange, *problem);
  const std::uint64_t before = packages.layers().bytes();
  const std::size_t removed = packages.prune(keep);
  json::object out{{"removed", removed}, {"freed_bytes", before - packages.layers().bytes()}};
  co_await exchange.respond(http::status::ok, "application/json", json::serialize(out));
}

}  // namespace

void add_package_routes(Router& router, session::Registry& registry, Provisioner& packages,
                        LivePackages& live) {
  using http::verb;
  router.add({verb::get, "/v1/packages", "Installed package layers", Access::overview,
              [&](Exchange& exchange) { return list_layers(exchange, registry, packages); }});
  router.add(
      {verb::post, "/v1/packages", "Install packages before a session needs them", Access::overview,
       [&](Exchange& exchange) { return warm(exchange, registry, packages, live, nullptr); }});
  router.add({verb::post, "/v1/packages/prune", "Remove layers that no session uses",
              Access::overview, [&](Exchange& exchange) { return prune(exchange, packages); }});
  router.add({verb::post, "/v1/sessions/{id}/packages", "Add packages to a live session",
              Access::ordinary, [&](Exchange& exchange) -> Task<void> {
                std::shared_ptr<session::Session> session = co_await session_of(exchange, registry);
                if (session) co_await warm(exchange, registry, packages, live, session);
              }});
}

}  // namespace vitrine::api
