// SPDX-License-Identifier: Apache-2.0
#include "api/per_identity.h"

#include <map>

namespace vitrine::api {

namespace {

using Handlers = std::map<std::string, Handler>;  // by the identity's name

Handler choose(Handlers handlers) {
  auto all = std::make_shared<const Handlers>(std::move(handlers));
  return [all](Exchange& exchange) { return all->at(exchange.identity->name)(exchange); };
}

}  // namespace

void add_per_identity(Router& router, const std::vector<const Identity*>& identities,
                      const std::function<void(Router&, const Identity&)>& add) {
  std::vector<Route> routes;
  std::vector<Handlers> handlers;
  for (const Identity* identity : identities) {
    Router own;
    add(own, *identity);
    if (routes.empty()) routes = own.routes();
    handlers.resize(routes.size());
    for (std::size_t i = 0; i < routes.size(); ++i)
      handlers[i][identity->name] = own.routes().at(i).handler;
  }
  for (std::size_t i = 0; i < routes.size(); ++i) {
    routes[i].handler = choose(std::move(handlers[i]));
    router.add(std::move(routes[i]));
  }
}

}  // namespace vitrine::api
