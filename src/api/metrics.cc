// SPDX-License-Identifier: Apache-2.0
#include "api/metrics.h"

#include <boost/json.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>

namespace vitrine::api {

namespace json = boost::json;

namespace {

std::string number(double value) {
  char text[40];
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;  // all its digits
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.9g", value);
  return text;
}

void head(std::string& out, const char* name, const char* type, const char* help) {
  out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

void line(std::string& out, const std::string& name, const std::string& labels, double value) {
  out += name + (labels.empty() ? "" : "{" + labels + "}") + " " + number(value) + "\n";
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  long total = 0;
  long resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident) * 4096;
}

}  // namespace

void Histogram::add(double seconds) {
  std::size_t bucket = 0;
  while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
  ++counts_[bucket];
  ++count_;
  sum_ += seconds;
}

std::string Histogram::text(const std::string& name, const std::string& labels) const {
  std::string out;
  std::uint64_t below = 0;
  const std::string more = labels.empty() ? "" : labels + ",";
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < kBounds.size() ? number(kBounds[i]) : "+Inf";
    line(out, name + "_bucket", more + "le=\"" + bound + "\"", static_cast<double>(below));
  }
  line(out, name + "_sum", labels, sum_);
  line(out, name + "_count", labels, static_cast<double>(count_));
  return out;
}

std::string metric(const char* name, const char* type, const char* help, double value) {
  std::string out;
  head(out, name, type, help);
  line(out, name, "", value);
  return out;
}

void Metrics::handled(const Handled& request) {
  ++requests_[{std::string(request.route.empty() ? "none" : request.route), request.status}];
  if (request.method == http::verb::post && request.route == "/v1/sessions" &&
      request.status == 201)
    create_.add(request.seconds);
  if (request.method == http::verb::post && request.route.ends_with("/exec"))
    exec_request_.add(request.seconds);
}

void Metrics::ended(session::Execution& execution) {
  const ExecRecord& record = execution.record;
  executions_[static_cast<std::size_t>(record.outcome)].add(record.usage.wall_ms / 1000);
  ++by_policy_[static_cast<std::size_t>(record.policy)][static_cast<std::size_t>(record.outcome)];
  if (record.outcome == Outcome::policy) ++refusals_[{record.policy, rule_of(record)}];
  if (record.out_truncated || record.err_truncated) ++output_truncated_;
}

void Metrics::network_decided(const std::string& /*session*/, const NetworkEntry& entry) {
  ++network_[static_cast<std::size_t>(entry.decision)];
}

void Metrics::screenshot_taken(const session::Pictured& picture) {
  ++pictures_[static_cast<std::size_t>(picture.result)];
  if (picture.result != session::PictureResult::failed)
    picture_.add(std::chrono::duration<double>(picture.latency).count());
}

void Metrics::recording_changed(const session::Recording& recording, std::uint64_t /*bytes*/) {
  if (!recording.is_running()) ++recordings_[recording.reason];
}

std::string Metrics::text(const session::Registry& registry, const session::Recordings& recordings,
                          const Server& server, const KeeperInfo* keeper) const {
  std::string out;
  const session::Counters& counters = registry.counters();
  head(out, "vitrine_sessions", "gauge", "Sessions that exist.");
  line(out, "vitrine_sessions", "", static_cast<double>(registry.count()));
  head(out, "vitrine_executions_running", "gauge", "Executions that run now.");
  line(out, "vitrine_executions_running", "", static_cast<double>(registry.running()));
  head(out, "vitrine_sessions_created_total", "counter", "Sessions created, by source.");
  const std::array<const char*, 3> sources{"warm", "forked", "built"};
  for (std::size_t i = 0; i < sources.size(); ++i)
    line(out, "vitrine_sessions_created_total", std::string("source=\"") + sources[i] + "\"",
         static_cast<double>(counters.sources[i]));
  head(out, "vitrine_sessions_ended_total", "counter", "Sessions ended, on request or idle.");
  line(out, "vitrine_sessions_ended_total", "", static_cast<double>(counters.ended));
  head(out, "vitrine_sessions_idle_ended_total", "counter", "Sessions ended for being idle.");
  line(out, "vitrine_sessions_idle_ended_total", "", static_cast<double>(counters.idle_ended));
  head(out, "vitrine_sessions_refused_total", "counter", "Creations refused: no capacity.");
  line(out, "vitrine_sessions_refused_total", "", static_cast<double>(counters.refused));
  head(out, "vitrine_session_deaths_total", "counter", "Workers that died.");
  line(out, "vitrine_session_deaths_total", "", static_cast<double>(counters.deaths));
  head(out, "vitrine_egress_decisions_total", "counter",
       "Connections requested from the network proxy, by decision.");
  for (std::size_t i = 0; i < network_.size(); ++i)
    line(out, "vitrine_egress_decisions_total",
         "decision=\"" + std::string(to_string(static_cast<NetworkDecision>(i))) + "\"",
         static_cast<double>(network_[i]));
  head(out, "vitrine_execution_seconds", "histogram", "Wall time of executions, by outcome.");
  for (std::size_t i = 0; i < executions_.size(); ++i)
    out +=
        executions_[i].text("vitrine_execution_seconds",
                            "outcome=\"" + std::string(to_string(static_cast<Outcome>(i))) + "\"");
  head(out, "vitrine_executions_total", "counter", "Executions, by language policy and outcome.");
  for (std::uint8_t policy = 0; policy < kPolicies; ++policy)
    for (std::size_t i = 0; i < by_policy_[policy].size(); ++i)
      line(out, "vitrine_executions_total",
           "policy=\"" + std::string(to_string(static_cast<Policy>(policy))) + "\",outcome=\"" +
               std::string(to_string(static_cast<Outcome>(i))) + "\"",
           static_cast<double>(by_policy_[policy][i]));
  head(out, "vitrine_policy_refusals_total", "counter", "Refusals of a language policy, by rule.");
  for (const auto& [key, count] : refusals_)
    line(out, "vitrine_policy_refusals_total",
         "policy=\"" + std::string(to_string(key.first)) + "\",rule=\"" + std::string(key.second) +
             "\"",
         static_cast<double>(count));
  head(out, "vitrine_create_seconds", "histogram", "Requests that created a session.");
  out += create_.text("vitrine_create_seconds", "");
  head(out, "vitrine_exec_request_seconds", "histogram", "Requests that executed code.");
  out += exec_request_.text("vitrine_exec_request_seconds", "");
  head(out, "vitrine_output_truncated_total", "counter", "Executions with truncated output.");
  line(out, "vitrine_output_truncated_total", "", static_cast<double>(output_truncated_));
  head(out, "vitrine_screenshots_total", "counter", "Screenshots, by result.");
  const std::array<const char*, 3> pictures{"ok", "blank", "failed"};
  for (std::size_t i = 0; i < pictures.size(); ++i)
    line(out, "vitrine_screenshots_total", std::string("result=\"") + pictures[i] + "\"",
         static_cast<double>(pictures_[i]));
  head(out, "vitrine_screenshot_seconds", "histogram",
       "From the request for a screenshot, or the end of the code, to the image.");
  out += picture_.text("vitrine_screenshot_seconds", "");
  head(out, "vitrine_recordings_running", "gauge", "Recordings that run now.");
  line(out, "vitrine_recordings_running", "", static_cast<double>(recordings.running()));
  head(out, "vitrine_recordings_ended_total", "counter", "Recordings that ended, by reason.");
  for (const auto& [reason, count] : recordings_)
    line(out, "vitrine_recordings_ended_total", "reason=\"" + reason + "\"",
         static_cast<double>(count));
  head(out, "vitrine_recording_frames_total", "counter", "Frames that encoders have encoded.");
  line(out, "vitrine_recording_frames_total", "", static_cast<double>(recordings.frames()));
  head(out, "vitrine_http_requests_total", "counter", "Requests by route and status.");
  for (const auto& [key, count] : requests_)
    line(out, "vitrine_http_requests_total",
         "route=\"" + key.first + "\",status=\"" + std::to_string(key.second) + "\"",
         static_cast<double>(count));
  head(out, "vitrine_http_connections", "gauge", "Open connections.");
  line(out, "vitrine_http_connections", "", static_cast<double>(server.connections()));
  head(out, "vitrine_front_resident_bytes", "gauge", "Memory of the front.");
  line(out, "vitrine_front_resident_bytes", "", resident_bytes());

  if (keeper == nullptr) return out;
  const PoolInfo& pools = keeper->pools;
  head(out, "vitrine_pool", "gauge", "Warm workers and empty shells, by kind.");
  for (const auto& [kind, waiting] : {std::pair{"bare", pools.bare},
                                      {"loaded", pools.loaded},
                                      {"seeded", pools.seeded},
                                      {"empty", pools.empty},
                                      {"recycled", pools.recycled}})
    line(out, "vitrine_pool", std::string("kind=\"") + kind + "\"", waiting);
  const auto one = [&](const char* name, const char* type, const char* help, double value) {
    head(out, name, type, help);
    line(out, name, "", value);
  };
  one("vitrine_encoder_cpu_seconds_total", "counter", "CPU time of all encoders.",
      static_cast<double>(keeper->encoder_cpu_us) / 1e6);
  one("vitrine_shells", "gauge", "Shells that exist, in use or in a pool.", keeper->shells);
  one("vitrine_capacity", "gauge", "Sessions that may exist at once.", keeper->capacity);
  one("vitrine_front_restarts_total", "counter", "Fronts that the keeper started after the first.",
      static_cast<double>(keeper->front_restarts));
  return out;
}

}  // namespace vitrine::api
