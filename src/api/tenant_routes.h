// SPDX-License-Identifier: Apache-2.0
// Routes of an adapter that knows no identities, once for each of them: what it keeps between two
// requests (an environment without a cookie, a page's state) is then never another one's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "api/router.h"

namespace vitrine::api {

// `add` is called for every identity and adds the same routes in the same order each time.
class TenantRoutes {
 public:
  using Add = std::function<void(Router&, const Identity&)>;
  TenantRoutes(Router& router, const std::vector<const Identity*>& identities, Add add);

  // One that came later.
  void add(const Identity& identity);

 private:
  using Handlers = std::map<std::string, Handler>;  // by the identity's name
  Add add_;
  std::vector<std::shared_ptr<Handlers>> handlers_;  // one for each route
};

}  // namespace vitrine::api
