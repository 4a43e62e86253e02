// SPDX-License-Identifier: Apache-2.0
#include "api/router.h"

#include <algorithm>

namespace vitrine::api {

namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  parts.reserve(8);
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool is_rest(std::string_view segment) { return segment.ends_with("...}"); }
bool is_parameter(std::string_view segment) { return segment.starts_with('{'); }

// `have` is the path that matches `pattern`, split.
std::vector<std::string> parameters_of(std::string_view pattern,
                                       const std::vector<std::string_view>& have,
                                       std::string_view path) {
  std::vector<std::string> parameters;
  std::size_t at = 0;
  for (const std::string_view want : split(pattern)) {
    if (is_rest(want))
      parameters.emplace_back(path.substr(static_cast<std::size_t>(have[at].data() - path.data())));
    else if (is_parameter(want)) parameters.emplace_back(have[at]);
    ++at;
  }
  return parameters;
}

}  // namespace

void Router::add(Route route) {
  const std::size_t index = routes_.size();
  std::size_t node = 0;
  bool rest = false;
  for (const std::string_view segment : split(route.pattern)) {
    if (is_rest(segment)) {
      rest = true;
      break;
    }
    std::size_t next = nodes_.size();
    if (!is_parameter(segment)) {
      next = nodes_[node].literals.try_emplace(std::string(segment), next).first->second;
    } else {
      if (nodes_[node].parameter == 0) nodes_[node].parameter = next;
      next = nodes_[node].parameter;
    }
    if (next == nodes_.size()) nodes_.emplace_back();
    node = next;
  }
  (rest ? nodes_[node].rest : nodes_[node].here).push_back(index);
  routes_.push_back(std::move(route));
}

void Router::collect(const Node& node, const Segments& path, std::size_t at,
                     std::vector<std::size_t>& found) const {
  if (at == path.size()) {
    found.insert(found.end(), node.here.begin(), node.here.end());
    return;
  }
  found.insert(found.end(), node.rest.begin(), node.rest.end());
  if (const auto next = node.literals.find(path[at]); next != node.literals.end())
    collect(nodes_[next->second], path, at + 1, found);
  if (node.parameter != 0) collect(nodes_[node.parameter], path, at + 1, found);
}

Router::Match Router::find(http::verb method, const std::string& path) const {
  const Segments segments = split(path);
  std::vector<std::size_t> found;
  collect(nodes_.front(), segments, 0, found);
  std::ranges::sort(found);  // as they were added
  Match result;
  for (const std::size_t index : found) {
    const Route& route = routes_[index];
    const bool head = method == http::verb::head && route.method == http::verb::get;
    if (route.method == method || head) {
      result.route = &route;
      result.parameters = parameters_of(route.pattern, segments, path);
      return result;
    }
    result.allowed.push_back(route.method);
  }
  return result;
}

}  // namespace vitrine::api
