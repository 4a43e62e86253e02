// SPDX-License-Identifier: Apache-2.0
// Which function answers which path. Patterns are literal but for {name}, one segment, and {name...},
// the rest; matching is on decoded segments.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/exchange.h"

namespace vitrine::api {

using Handler = std::function<Task<void>(Exchange&)>;

enum class Access {
  open,      // always: /health
  ordinary,  // open on loopback; a token elsewhere
  overview,  // as ordinary, but it tells about everybody: not for tokens of the tokens file
  listing,   // a token everywhere: lists what exists
};

struct Route {
  http::verb method{};
  std::string pattern;
  std::string summary;  // for /openapi.json
  Access access = Access::ordinary;
  Handler handler;
};

class Router {
 public:
  void add(Route route) { routes_.push_back(std::move(route)); }
  const std::vector<Route>& routes() const { return routes_; }

  struct Match {
    const Route* route = nullptr;  // null: nothing has this path
    std::vector<std::string> parameters;
    std::vector<http::verb> allowed;  // when only the method was wrong
  };
  Match find(http::verb method, const std::string& path) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace vitrine::api
