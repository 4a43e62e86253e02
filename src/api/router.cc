// SPDX-License-Identifier: Apache-2.0
#include "api/router.h"

namespace vitrine::api {

namespace {

std::vector<std::string_view> segments(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<std::vector<std::string>> match(const std::string& pattern, const std::string& path) {
  const auto want = segments(pattern);
  const auto have = segments(path);
  std::vector<std::string> parameters;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i].ends_with("...}")) {
      if (i >= have.size()) return std::nullopt;
      const auto offset = static_cast<std::size_t>(have[i].data() - path.data());
      parameters.push_back(path.substr(offset));
      return parameters;
    }
    if (i >= have.size()) return std::nullopt;
    if (want[i].starts_with('{')) parameters.emplace_back(have[i]);
    else if (want[i] != have[i]) return std::nullopt;
  }
  if (have.size() != want.size()) return std::nullopt;
  return parameters;
}

}  // namespace

Router::Match Router::find(http::verb method, const std::string& path) const {
  Match result;
  for (const Route& route : routes_) {
    auto parameters = match(route.pattern, path);
    if (!parameters) continue;
    const bool head = method == http::verb::head && route.method == http::verb::get;
    if (route.method == method || head) {
      result.route = &route;
      result.parameters = std::move(*parameters);
      return result;
    }
    result.allowed.push_back(route.method);
  }
  return result;
}

}  // namespace vitrine::api
