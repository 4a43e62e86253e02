// SPDX-License-Identifier: Apache-2.0
#include "api/render.h"

#include "wire/messages.h"

namespace vitrine::api {

namespace json = boost::json;

namespace {

double rounded(double milliseconds) { return static_cast<double>(static_cast<long long>(milliseconds * 1000 + 0.5)) / 1000; }

bool is_text(std::string_view mime, std::string_view bytes) {
  const bool textual = mime.starts_with("text/") || mime == "image/svg+xml" ||
                       mime.ends_with("json") || mime == "application/javascript" ||
                       mime.ends_with("+xml");
  return textual && wire::is_utf8(bytes);
}

json::object bundle_object(const MimeBundle& bundle) {
  json::object out;
  for (const auto& [mime, bytes] : bundle) {
    if (mime.ends_with("json")) {
      boost::system::error_code failed;
      json::parse_options options;
      options.max_depth = 32;
      json::value parsed = json::parse(bytes, failed, json::storage_ptr(), options);
      if (!failed) {
        out[mime] = std::move(parsed);
        continue;
      }
    }
    out[mime] = is_text(mime, bytes) ? bytes : base64(bytes);
  }
  return out;
}

json::value error_value(const std::optional<ExecError>& error) {
  if (!error) return nullptr;
  return json::object{
      {"name", error->name}, {"value", error->value}, {"traceback", error->traceback}};
}

}  // namespace

std::string base64(std::string_view bytes) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) -> std::uint32_t {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
    };
    const std::uint32_t group = at(0) << 16 | at(1) << 8 | at(2);
    out += kAlphabet[group >> 18];
    out += kAlphabet[group >> 12 & 63];
    out += i + 1 < bytes.size() ? kAlphabet[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kAlphabet[group & 63] : '=';
  }
  return out;
}

std::string execution_json(const ExecRecord& record) {
  json::array results;
  for (const MimeBundle& bundle : record.results) results.push_back(bundle_object(bundle));
  json::array notes;
  for (const std::string& note : record.notes) notes.push_back(json::string(note));
  return json::serialize(json::object{
      {"id", record.id},
      {"session", record.session},
      {"state", record.state},
      {"started_at", record.started_at},
      {"outcome", to_string(record.outcome)},
      {"exit_code", record.exit_code},
      {"stdout", record.out},
      {"stderr", record.err},
      {"truncated",
       json::object{{"stdout", record.out_truncated}, {"stderr", record.err_truncated}}},
      {"results", std::move(results)},
      {"error", error_value(record.error)},
      {"state_kept", record.state_kept},
      {"notes", std::move(notes)},
      {"usage", json::object{{"wall_ms", rounded(record.usage.wall_ms)},
                             {"cpu_ms", rounded(record.usage.cpu_ms)},
                             {"peak_memory_kb", record.usage.peak_memory_kb}}},
  });
}

json::object limits_object(const Limits& limits) {
  const auto seconds = [](std::chrono::milliseconds time) {
    return static_cast<double>(time.count()) / 1000;
  };
  return {{"memory_mb", limits.memory_bytes >> 20},
          {"cpus", limits.cpu_permille / 1000.0},
          {"processes", limits.processes},
          {"disk_mb", limits.disk_bytes >> 20},
          {"output_kb", limits.output_bytes >> 10},
          {"exec_timeout_s", seconds(limits.exec_time)},
          {"idle_timeout_s", seconds(limits.idle_time)}};
}

json::object session_object(const session::Session& session) {
  json::array notes;
  for (const std::string& note : session.notes) notes.push_back(json::string(note));
  json::object out{
      {"id", session.id},
      {"name", session.spec.name},
      {"state", session.death ? "dead" : session.frozen ? "frozen" : session.busy() ? "busy"
                                                                                     : "ready"},
      {"isolation", session.spec.isolation},
      {"policy", session.spec.policy},
      {"created_at", session.created_at},
      {"limits", limits_object(session.spec.limits)},
      {"notes", std::move(notes)},
  };
  if (session.spec.seed) out["seed"] = *session.spec.seed;
  if (session.death)
    out["death"] = json::object{{"cause", to_string(session.death->cause)},
                                {"code", session.death->code}};
  return out;
}

std::string event_json(const session::Event& event) {
  struct Visitor {
    std::string operator()(const session::OutputEvent& e) {
      const char* type = e.stream == session::Stream::out ? "stdout" : "stderr";
      return json::serialize(json::object{{"type", type}, {"text", e.text}});
    }
    std::string operator()(const session::ResultEvent& e) {
      if (e.kind == wire::ResultKind::clear_output) return "";
      json::object out{{"type", "result"}, {"data", bundle_object(e.data)}};
      if (!e.display_id.empty()) out["display_id"] = e.display_id;
      if (e.kind == wire::ResultKind::update_display) out["update"] = true;
      return json::serialize(out);
    }
    std::string operator()(const session::ErrorEvent& e) {
      return json::serialize(
          json::object{{"type", "error"}, {"error", error_value(std::optional(e.error))}});
    }
    std::string operator()(const session::NoteEvent& e) {
      return json::serialize(json::object{{"type", "note"}, {"text", e.text}});
    }
    std::string operator()(const session::InputEvent&) { return ""; }
    std::string operator()(const session::FinishedEvent&) { return ""; }
  };
  return std::visit(Visitor{}, event);
}

}  // namespace vitrine::api
