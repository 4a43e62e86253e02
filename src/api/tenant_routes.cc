// SPDX-License-Identifier: Apache-2.0
#include "api/tenant_routes.h"

namespace vitrine::api {

TenantRoutes::TenantRoutes(Router& router, const std::vector<const Identity*>& identities, Add add)
    : add_(std::move(add)) {
  Router first;
  add_(first, *identities.front());
  for (Route route : first.routes()) {
    auto all = std::make_shared<Handlers>();
    (*all)[identities.front()->name] = std::move(route.handler);
    route.handler = [all](Exchange& exchange) {
      return all->at(exchange.identity->name)(exchange);
    };
    handlers_.push_back(std::move(all));
    router.add(std::move(route));
  }
  for (std::size_t i = 1; i < identities.size(); ++i) this->add(*identities[i]);
}

void TenantRoutes::add(const Identity& identity) {
  Router own;
  add_(own, identity);
  for (std::size_t i = 0; i < handlers_.size(); ++i)
    (*handlers_[i])[identity.name] = own.routes().at(i).handler;
}

}  // namespace vitrine::api
