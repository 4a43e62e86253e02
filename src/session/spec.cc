// SPDX-License-Identifier: Apache-2.0
#include "session/spec.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <string_view>

namespace vitrine::session {

namespace json = boost::json;

std::string spec_to_json(const SessionSpec& spec) {
  const Limits& limits = spec.limits;
  json::object out{{"name", spec.name},
                   {"owner", spec.owner},
                   {"variant", static_cast<int>(spec.variant)},
                   {"policy", to_string(spec.policy)},
                   {"isolation", to_string(spec.isolation)},
                   {"memory_bytes", limits.memory_bytes},
                   {"cpu_permille", limits.cpu_permille},
                   {"processes", limits.processes},
                   {"disk_bytes", limits.disk_bytes},
                   {"output_bytes", limits.output_bytes},
                   {"exec_ms", limits.exec_time.count()},
                   {"idle_ms", limits.idle_time.count()},
                   {"install_ms", spec.install_time.count()},
                   {"display_width", spec.display.width},
                   {"display_height", spec.display.height}};
  if (spec.seed) out["seed"] = *spec.seed;
  if (!spec.layers.empty()) out["layers"] = json::array(spec.layers.begin(), spec.layers.end());
  if (!spec.packages.empty())
    out["packages"] = json::array(spec.packages.begin(), spec.packages.end());
  if (spec.layer_first) out["layer_first"] = 1;
  if (spec.allow_sdist) out["allow_sdist"] = 1;
  if (!spec.environment.empty()) out["environment"] = spec.environment;
  if (spec.network) {
    json::array& rules = out["network"].emplace_array();
    for (const std::string& rule : spec.network->allow) rules.emplace_back(rule);
  }
  if (!spec.imports.empty()) out["imports"] = json::array(spec.imports.begin(), spec.imports.end());
  // Names only: values are never stored.
  json::array& names = out["env"].emplace_array();
  for (const auto& [name, value] : spec.env) names.emplace_back(name);
  for (const std::string& name : spec.lost_env) names.emplace_back(name);
  return json::serialize(out);
}

SessionSpec spec_from_json(const std::string& text) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(text, failed);
  SessionSpec spec;
  const json::object* in = failed ? nullptr : parsed.if_object();
  if (in == nullptr) return spec;
  const auto number = [&](const char* key, std::uint64_t otherwise) {
    const json::value* value = in->if_contains(key);
    return value != nullptr && value->is_number() ? value->to_number<std::uint64_t>() : otherwise;
  };
  const auto word = [&](const char* key, std::string otherwise) {
    const json::value* value = in->if_contains(key);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : otherwise;
  };
  const auto words = [&](const char* key) {
    std::vector<std::string> out;
    if (const json::value* list = in->if_contains(key); list != nullptr && list->is_array())
      for (const json::value& one : list->as_array())
        if (one.is_string()) out.emplace_back(one.as_string());
    return out;
  };
  spec.name = word("name", "");
  spec.owner = word("owner", "");
  spec.policy = policy_from(word("policy", "native")).value_or(Policy::native);
  spec.isolation = isolation_from(word("isolation", "process")).value_or(IsolationKind::process);
  spec.variant = static_cast<Variant>(std::min<std::uint64_t>(number("variant", 1), kVariants - 1));
  Limits& limits = spec.limits;
  limits.memory_bytes = number("memory_bytes", limits.memory_bytes);
  limits.cpu_permille = static_cast<std::uint32_t>(number("cpu_permille", limits.cpu_permille));
  limits.processes = static_cast<std::uint32_t>(number("processes", limits.processes));
  limits.disk_bytes = number("disk_bytes", limits.disk_bytes);
  limits.output_bytes = number("output_bytes", limits.output_bytes);
  limits.exec_time = std::chrono::milliseconds(number("exec_ms", 30'000));
  limits.idle_time = std::chrono::milliseconds(number("idle_ms", 1'800'000));
  spec.install_time = std::chrono::milliseconds(number("install_ms", 300'000));
  spec.display.width = static_cast<std::uint32_t>(number("display_width", spec.display.width));
  spec.display.height = static_cast<std::uint32_t>(number("display_height", spec.display.height));
  if (!spec.display.validate()) spec.display = {};
  spec.layers = words("layers");
  spec.packages = words("packages");
  spec.layer_first = number("layer_first", 0) != 0;
  spec.allow_sdist = number("allow_sdist", 0) != 0;
  spec.environment = word("environment", "");
  if (in->contains("seed")) spec.seed = number("seed", 0);
  if (const json::value* rules = in->if_contains("network");
      rules != nullptr && rules->is_array()) {
    spec.network.emplace();
    for (const json::value& rule : rules->as_array())
      if (rule.is_string()) spec.network->allow.emplace_back(rule.as_string());
  }
  spec.imports = words("imports");
  spec.lost_env = words("env");
  return spec;
}

bool is_stored(const SessionSpec& spec) {
  return spec.stored && spec.lifetime == Lifetime::session;
}

Variant variant_for(const std::string& code) {
  static constexpr std::array<std::string_view, 12> kHeavy{
      "numpy", "pandas", "matplotlib",  "scipy", "seaborn",  "sklearn",
      "pylab", "plt.",   "statsmodels", "sympy", "networkx", "skimage"};
  for (std::string_view word : kHeavy)
    if (code.find(word) != std::string::npos) return Variant::loaded;
  return Variant::bare;
}

}  // namespace vitrine::session
