// SPDX-License-Identifier: Apache-2.0
#include "packages/config.h"

#include <algorithm>
#include <boost/json.hpp>

#include "packages/requirements.h"

namespace vitrine::packages {

namespace json = boost::json;

namespace {

std::vector<std::string> texts(const json::object& in, const char* key) {
  std::vector<std::string> out;
  if (const json::value* list = in.if_contains(key); list != nullptr && list->is_array())
    for (const json::value& one : list->as_array())
      if (one.is_string()) out.emplace_back(one.as_string());
  return out;
}

}  // namespace

bool Config::permits(const std::string& name) const {
  if (std::ranges::find(deny, name) != deny.end()) return false;
  return allow.empty() || std::ranges::find(allow, name) != allow.end();
}

Result<Config> config_from_json(const std::string& text) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(text, failed);
  const json::object* in = failed ? nullptr : parsed.if_object();
  if (in == nullptr)
    return Error{Code::invalid_argument, "the package settings are not a JSON object"};
  const auto number = [&](const char* key, std::uint64_t otherwise) {
    const json::value* value = in->if_contains(key);
    return value != nullptr && value->is_number() ? value->to_number<std::uint64_t>() : otherwise;
  };
  const auto word = [&](const char* key) {
    const json::value* value = in->if_contains(key);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
  };
  Config config;
  config.on = number("on", 1) != 0;
  // Removed from the URL at once, so that no message and no job can contain them.
  bool plain = true;
  const auto without_secret = [&](std::string url) {
    std::optional<IndexUrl> index = parse_index_url(url);
    plain = plain && is_plain_about_secrets(url) && (index || url.find('@') == std::string::npos);
    if (!index || index->authorization.empty()) return url;
    url = index->plain();
    config.secrets[url] = std::move(*index);
    return url;
  };
  config.index_url = without_secret(word("index_url"));
  for (const std::string& one : texts(*in, "extra_index_urls"))
    config.extra_index_urls.push_back(without_secret(one));
  if (const json::value* map = in->if_contains("index_for"); map != nullptr && map->is_object())
    for (const auto& [name, url] : map->as_object())
      if (url.is_string())
        config.index_for[normalised(name)] = without_secret(std::string(url.as_string()));
  if (!plain) return Error{Code::invalid_argument, "the URL of a package index is not understood"};
  config.index_hosts = texts(*in, "index_hosts");
  if (Status s = check_index_hosts(config.index_hosts); !s) return std::move(s.error());
  config.sdist = number("sdist", 1) != 0;
  config.find_links = number("find_links", 0) != 0;
  config.certificates = word("certificates");
  config.allow = texts(*in, "allow");
  config.deny = texts(*in, "deny");
  config.imports = texts(*in, "imports");
  config.layer_bytes = number("layer_bytes", config.layer_bytes);
  config.budget_bytes = number("budget_bytes", config.budget_bytes);
  config.time = std::chrono::seconds(number("time_s", 300));
  return config;
}

}  // namespace vitrine::packages
