// SPDX-License-Identifier: Apache-2.0
#include "api/render.h"

#include <cstdio>

#include "base/base64.h"
#include "session/worker_rules.h"

namespace vitrine::api {

namespace json = boost::json;

namespace {

// As people write it: 0.633, 30, 1.
std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

std::string json_text(std::string_view text) { return json::serialize(json::string(text)); }

bool is_text(std::string_view mime, std::string_view bytes) {
  const bool textual = mime.starts_with("text/") || mime == "image/svg+xml" ||
                       mime.ends_with("json") || mime == "application/javascript" ||
                       mime.ends_with("+xml");
  return textual && session::is_utf8(bytes);
}

json::value parsed_json(const std::string& text) {
  boost::system::error_code failed;
  json::parse_options options;
  options.max_depth = 32;
  json::value parsed = json::parse(text, failed, json::storage_ptr(), options);
  return failed ? json::value(text) : parsed;
}

json::object bundle_object(const MimeBundle& bundle) {
  json::object out;
  for (const auto& [mime, bytes] : bundle) {
    if (!is_text(mime, bytes)) out[mime] = base64(bytes);
    else if (mime.ends_with("json")) out[mime] = parsed_json(bytes);
    else out[mime] = bytes;
  }
  return out;
}

json::value error_value(const std::optional<ExecError>& error) {
  if (!error) return nullptr;
  return json::object{
      {"name", error->name}, {"value", error->value}, {"traceback", error->traceback}};
}

std::string network_json(const std::vector<NetworkEntry>& entries) {
  json::array out;
  for (const NetworkEntry& entry : entries)
    out.push_back(json::object{
        {"host", entry.host},
        {"port", entry.port},
        {"decision", to_string(entry.decision)},
        {"reason", entry.reason},
        {"address", entry.address.empty() ? json::value(nullptr) : json::value(entry.address)},
        {"sent", entry.sent},
        {"received", entry.received}});
  return json::serialize(out);
}

}  // namespace

std::string base64(std::string_view bytes) { return to_base64(bytes); }

namespace {

std::string frame_fields(const StripFrame& frame) {
  return "\"at_ms\":" + std::to_string(frame.at.count()) +
         ",\"stdout_offset\":" + std::to_string(frame.out_offset) +
         ",\"line\":" + (frame.line ? std::to_string(*frame.line) : "null") + ",\"image\":\"" +
         base64(*frame.png) + "\"";
}

}  // namespace

std::string execution_json(const ExecRecord& record) {
  json::array results;
  for (const MimeBundle& bundle : record.results) results.push_back(bundle_object(bundle));
  json::array notes;
  for (const std::string& note : record.notes) notes.push_back(json::string(note));
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  std::string out = "{\"id\":\"" + record.id + "\",\"session\":\"" + record.session +
                    "\",\"state\":\"" + record.state + "\",\"started_at\":\"" + record.started_at +
                    "\",\"outcome\":\"";
  out += to_string(record.outcome);
  out += "\",\"exit_code\":" + std::to_string(record.exit_code);
  out += ",\"stdout\":" + json_text(record.out) + ",\"stderr\":" + json_text(record.err);
  out += std::string(",\"truncated\":{\"stdout\":") + flag(record.out_truncated) +
         ",\"stderr\":" + flag(record.err_truncated) + "}";
  out += ",\"results\":" + json::serialize(results);
  out += ",\"error\":" + json::serialize(error_value(record.error));
  out += std::string(",\"state_kept\":") + flag(record.state_kept);
  if (record.wants_screenshot)
    out += ",\"screenshot\":" +
           (record.screenshot ? "\"" + base64(*record.screenshot) + "\"" : std::string("null"));
  if (record.wants_frames) {
    out += ",\"frames\":[";
    for (std::size_t i = 0; i < record.frames.size(); ++i)
      out += (i == 0 ? "{" : ",{") + frame_fields(record.frames[i]) + "}";
    out += "]";
  }
  out += ",\"notes\":" + json::serialize(notes);
  out += ",\"usage\":{\"wall_ms\":" + number(record.usage.wall_ms) +
         ",\"cpu_ms\":" + number(record.usage.cpu_ms) +
         ",\"peak_memory_kb\":" + std::to_string(record.usage.peak_memory_kb) + "}";
  if (record.network)
    out += ",\"network\":" + network_json(*record.network) +
           ",\"network_omitted\":" + std::to_string(record.network_omitted);
  return out + "}";
}

std::string answer_json(const session::Execution& execution) {
  const bool whole = !execution.rendered.empty() && !execution.record.wants_frames;
  return whole ? execution.rendered : execution_json(execution.record);
}

std::string limits_json(const Limits& limits, std::chrono::milliseconds install_time) {
  const auto seconds = [](std::chrono::milliseconds time) {
    return number(static_cast<double>(time.count()) / 1000);
  };
  return "{\"memory_mb\":" + std::to_string(limits.memory_bytes >> 20) +
         ",\"cpus\":" + number(limits.cpu_permille / 1000.0) +
         ",\"processes\":" + std::to_string(limits.processes) +
         ",\"disk_mb\":" + std::to_string(limits.disk_bytes >> 20) +
         ",\"output_kb\":" + std::to_string(limits.output_bytes >> 10) +
         ",\"exec_timeout_s\":" + seconds(limits.exec_time) +
         ",\"idle_timeout_s\":" + seconds(limits.idle_time) +
         ",\"install_timeout_s\":" + seconds(install_time) + "}";
}

std::string session_json(const session::Session& session) {
  json::array notes;
  for (const std::string& note : session.notes()) notes.push_back(json::string(note));
  json::array packages;
  for (const std::string& pin : session.spec().packages) packages.push_back(json::string(pin));
  const char* state = "ready";
  if (session.death()) state = "dead";
  else if (session.is_frozen()) state = "frozen";
  else if (session.busy()) state = "busy";
  std::string out =
      "{\"id\":\"" + session.id + "\",\"name\":" + json_text(session.spec().name) +
      ",\"state\":\"" + state +
      "\",\"isolation\":" + json_text(to_string(session.spec().isolation)) +
      ",\"policy\":" + json_text(std::string(to_string(session.spec().policy))) +
      ",\"created_at\":\"" + session.created_at +
      "\",\"limits\":" + limits_json(session.spec().limits, session.spec().install_time) +
      ",\"display\":{\"width\":" + std::to_string(session.spec().display.width) +
      ",\"height\":" + std::to_string(session.spec().display.height) + "}" +
      ",\"notes\":" + json::serialize(notes) + ",\"packages\":" + json::serialize(packages);
  if (session.spec().network) {
    json::array rules;
    for (const std::string& rule : session.spec().network->allow)
      rules.push_back(json::string(rule));
    out += ",\"network\":{\"allow\":" + json::serialize(rules) + "}";
  }
  if (!session.spec().environment.empty())
    out += ",\"environment\":" + json_text(session.spec().environment);
  if (session.spec().seed) out += ",\"seed\":" + std::to_string(*session.spec().seed);
  if (session.death())
    out += ",\"death\":{\"cause\":" + json_text(to_string(session.death()->cause)) +
           ",\"code\":" + std::to_string(session.death()->code) + "}";
  return out + "}";
}

std::string event_json(const session::Event& event) {
  struct Visitor {
    std::string operator()(const session::OutputEvent& e) {
      const char* type = e.stream == session::Stream::out ? "stdout" : "stderr";
      return json::serialize(json::object{{"type", type}, {"text", e.text}});
    }
    std::string operator()(const session::ResultEvent& e) {
      if (e.kind == session::ResultKind::clear_output) return "";
      json::object out{{"type", "result"}, {"data", bundle_object(e.data)}};
      if (!e.display_id.empty()) out["display_id"] = e.display_id;
      if (e.kind == session::ResultKind::update_display) out["update"] = true;
      return json::serialize(out);
    }
    std::string operator()(const session::ErrorEvent& e) {
      return json::serialize(
          json::object{{"type", "error"}, {"error", error_value(std::optional(e.error))}});
    }
    std::string operator()(const session::NoteEvent& e) {
      return json::serialize(json::object{{"type", "note"}, {"text", e.text}});
    }
    std::string operator()(const session::ProgressEvent& e) {
      return json::serialize(
          json::object{{"type", "progress"}, {"stage", "packages"}, {"text", e.text}});
    }
    std::string operator()(const session::InputEvent&) { return ""; }
    std::string operator()(const session::ScreenshotEvent& e) {
      return "{\"type\":\"screenshot\",\"data\":" +
             (e.png ? "\"" + base64(*e.png) + "\"" : std::string("null")) + "}";
    }
    std::string operator()(const session::FrameEvent& e) {
      return "{\"type\":\"frame\"," + frame_fields(e.frame) + "}";
    }
    std::string operator()(const session::FinishedEvent&) { return ""; }
  };
  return std::visit(Visitor{}, event);
}

}  // namespace vitrine::api
