// SPDX-License-Identifier: Apache-2.0
#include "api/native/keeper_info.h"

namespace vitrine::api {

namespace json = boost::json;

namespace {

json::array texts(const std::vector<std::string>& list) {
  return json::array(list.begin(), list.end());
}

json::object isolation_json(const IsolationInfo& isolation) {
  return {{"level", to_string(isolation.level)},
          {"floor", to_string(isolation.floor)},
          {"lost", texts(isolation.lost)},
          {"privileged", isolation.privileged},
          {"cgroups", isolation.cgroups},
          {"limits_level", to_string(isolation.limits)},
          {"best_effort", texts(isolation.best_effort)},
          {"memory", isolation.memory},
          {"processes", isolation.processes},
          {"cpu", isolation.cpu},
          {"landlock_abi", isolation.landlock_abi}};
}

json::array zygotes_json(const std::vector<ZygoteInfo>& zygotes) {
  json::array out;
  for (const ZygoteInfo& one : zygotes)
    out.push_back(json::object{{"variant", to_string(one.variant)},
                               {"environment", one.environment},
                               {"policy", to_string(one.policy)},
                               {"pid", one.pid},
                               {"warm", one.warm},
                               {"forks", one.forks},
                               {"alive", one.alive}});
  return out;
}

json::array environments_json(const std::vector<EnvironmentInfo>& environments) {
  json::array out{
      json::object{{"name", "default"}, {"variants", json::array{"bare", "loaded", "seeded"}}}};
  for (const EnvironmentInfo& one : environments)
    out.push_back(json::object{{"name", one.name}, {"preload", texts(one.preload)}});
  return out;
}

json::array isolations_json(const std::vector<IsolationOffer>& isolations) {
  json::array out;
  for (const IsolationOffer& one : isolations) {
    json::array capabilities;
    for (const Capability capability : kAllCapabilities)
      if (one.capabilities.has(capability)) capabilities.emplace_back(to_string(capability));
    out.push_back(json::object{{"name", to_string(one.isolation)},
                               {"capabilities", std::move(capabilities)}});
  }
  return out;
}

}  // namespace

json::object keeper_json(const KeeperInfo& info) {
  const PoolInfo& pools = info.pools;
  return {{"processes",
           {{"keeper", info.keeper_pid},
            {"front", info.front_pid},
            {"builder", info.builder_pid},
            {"foundation", info.outer_init_pid}}},
          {"python", info.python},
          {"isolation", isolation_json(info.isolation)},
          {"isolations", isolations_json(info.isolations)},
          {"capacity", info.capacity},
          {"egress", {{"on", info.egress}, {"proxies", info.proxies}}},
          {"pools",
           {{"bare", pools.bare},
            {"loaded", pools.loaded},
            {"seeded", pools.seeded},
            {"empty", pools.empty},
            {"recycled", pools.recycled}}},
          {"zygotes", zygotes_json(info.zygotes)},
          {"environments", environments_json(info.environments)}};
}

}  // namespace vitrine::api
