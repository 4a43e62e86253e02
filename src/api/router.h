// SPDX-License-Identifier: Apache-2.0
// Which function answers which path. Patterns are literal but for {name}, one segment, and {name...},
// the rest; matching is on decoded segments. Of several routes that match, the first one added answers.
//
// Patterns are kept as a trie of segments: a path is split once, however many routes there are.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
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
  void add(Route route);
  const std::vector<Route>& routes() const { return routes_; }

  struct Match {
    const Route* route = nullptr;  // null: nothing has this path
    std::vector<std::string> parameters;
    std::vector<http::verb> allowed;  // when only the method was wrong
  };
  Match find(http::verb method, const std::string& path) const;

 private:
  struct Node {
    std::map<std::string, std::size_t, std::less<>> literals;  // the next segment, and its node
    std::size_t parameter = 0;                                 // node behind {name}; 0 = none
    std::vector<std::size_t> here;                             // routes that end here
    std::vector<std::size_t> rest;                             // routes whose {name...} begins here
  };
  using Segments = std::vector<std::string_view>;

  // Adds to `found` every route that matches the segments from `at` on.
  void collect(const Node& node, const Segments& path, std::size_t at,
               std::vector<std::size_t>& found) const;

  std::vector<Route> routes_;
  std::vector<Node> nodes_{1};  // the first one is the root
};

}  // namespace vitrine::api
